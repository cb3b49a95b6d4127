// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cupool::simgpu {

/// While it lives, a device works: what NVML calls utilisation. Told to the machine at most ten times a second.
class BusySpan {
 public:
  /// `gpu`: the machine's ordinal.
  explicit BusySpan(std::uint32_t gpu);
  ~BusySpan();
  BusySpan(const BusySpan&) = delete;
  BusySpan& operator=(const BusySpan&) = delete;

 private:
  const std::uint32_t gpu_;
  const std::uint64_t began_ns_;
};

}  // namespace cupool::simgpu
