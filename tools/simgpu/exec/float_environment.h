// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace cupool::simgpu {

/// While it lives, this thread computes with the standard rounding and denormals, as the simulated device does; afterwards with
/// whatever the host program had set (a program built with -ffast-math flushes denormals, and threads inherit that from their
/// creator).
class FloatEnvironment {
 public:
#if defined(__x86_64__)
  // SSE control alone: saving the x87 state too would cost more than a small launch.
  FloatEnvironment() : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(kStandard);
  }
  ~FloatEnvironment() {
    __builtin_ia32_ldmxcsr(before_);
  }
#else
  FloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() {
    std::fesetenv(&before_);
  }
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kStandard = 0x1f80;  // all exceptions masked, round to nearest, denormals kept
  unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace cupool::simgpu
