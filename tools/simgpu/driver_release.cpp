// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver_release.h"

// Set by the build of the older drivers (folders driver-11.4 and driver-12.4).
#ifndef SIMGPU_DRIVER_VERSION
#define SIMGPU_DRIVER_VERSION 13000
#endif

namespace cupool::simgpu {

const DriverRelease& driver_release() {
  static constexpr DriverRelease kRelease = SIMGPU_DRIVER_VERSION >= 13000   ? DriverRelease{13000, "580.65.06", "13.580.65.06"}
                                            : SIMGPU_DRIVER_VERSION >= 12000 ? DriverRelease{12040, "550.54.15", "12.550.54.15"}
                                                                             : DriverRelease{11040, "470.57.02", "11.470.57.02"};
  return kRelease;
}

}  // namespace cupool::simgpu
