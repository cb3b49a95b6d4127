// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace cupool::bench {

/// The processor's time stamp where there is one: a call of the system's clock costs as much as what is measured here.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

struct Clock {
  double ns_per_tick;
  double overhead_ticks;  ///< what one pair of readings shows when nothing lies between them (the median)
};

/// Compares with the system's clock for 20 ms, once.
const Clock& clock();

}  // namespace cupool::bench
