// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ptx_test {

/// NVRTC opened at run time: tests that need it skip aloud where it is not installed.
class Nvrtc {
 public:
  static bool available();
  /// PTX of a CUDA C++ text; fails the test with the compiler's log.
  static std::string compile(const std::string& source, const std::vector<std::string>& options);
};

}  // namespace ptx_test
