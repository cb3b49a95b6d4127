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

/// Of this library: each shared library compiles driver_release.cpp for itself, the rest of the driver is the same in all.
const DriverRelease& driver_release();

}  // namespace cupool::simgpu
