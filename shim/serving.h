// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "shim/abi/cuda_types.h"
#include "shim/process.h"

/// How requests for device memory are answered: from the pool, or by the driver under the same limit. What every allocating hook
/// ends in, so that there is one order of checks.
namespace cupool::shim {

struct Wanted {
  const char* entry;  ///< the program's call, for reports
  std::size_t bytes = 0;
  std::size_t alignment = 0;  ///< 0: the policy's
};

/// The driver's own way of serving the request, writing the address on success.
using DriverCall = std::function<CUresult(CUdeviceptr*)>;

/// Serves one request for device memory. `*address` is written only on success. The order: what the driver would refuse by itself
/// (null, zero, no context, an open capture, a context that has died) is answered by the driver or as it would; then the policy.
CUresult serve(const Wanted& wanted, CUdeviceptr* address, const DriverCall& driver_call);

/// Obtains memory beside the pool: charged before, credited when the driver refuses, known to queries afterwards.
/// `given` is what it takes of the device.
CUresult serve_beside(const Wanted& wanted, pool::BesideKind kind, Bytes given, CUdeviceptr* address,
                      const DriverCall& driver_call);

/// Frees what serve() and serve_beside() gave; what is unknown goes to the driver.
CUresult give_back(CUdeviceptr address, const std::function<CUresult()>& driver_call);

/// Frees a block of the pool in the order of a stream.
CUresult give_back_in_order(CUdeviceptr address, CUstream stream);

/// What the driver says to a potentially unsafe call at this moment: success unless a capture forbids it (and then, as on the
/// driver, the capture is invalidated).
CUresult capture_verdict();

/// Frees every block of a context that is about to end, and gives the memory of a device that no other context uses back to the
/// driver. Called while the context still lives.
void end_blocks_of(CUcontext context);

}  // namespace cupool::shim
