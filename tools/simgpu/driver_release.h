// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cupool::simgpu {

/// Which driver the library says it is. SIMGPU_DRIVER_VERSION is set by the build of the older ones (folders driver-11.4,
/// driver-12.4).
struct DriverRelease {
  int cuda_version;
  const char* driver;  ///< of the branch that brought that CUDA version
  const char* nvml;
};

#ifndef SIMGPU_DRIVER_VERSION
#define SIMGPU_DRIVER_VERSION 13000
#endif

inline constexpr DriverRelease kDriverRelease = SIMGPU_DRIVER_VERSION >= 13000 ? DriverRelease{13000, "580.65.06", "13.580.65.06"}
                                                : SIMGPU_DRIVER_VERSION >= 12000
                                                    ? DriverRelease{12040, "550.54.15", "12.550.54.15"}
                                                    : DriverRelease{11040, "470.57.02", "11.470.57.02"};

}  // namespace cupool::simgpu
