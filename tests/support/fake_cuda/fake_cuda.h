// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The parts of the driver that does nothing.
struct fake_function {
  const char* exported;
  const char* base;
  int since;
  int per_thread;
  void* address;  ///< exported
  void* other;    ///< does the same
  int* calls;
};
extern const struct fake_function fake_functions[];
extern const int fake_function_count;
