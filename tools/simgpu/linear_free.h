// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

class Context;

/// cuMemFree: linear, pitched, managed and stream-ordered memory by its base address; 0 is accepted (as observed on hardware).
/// Waits for running work first, except for stream-ordered memory. CUDA_ERROR_INVALID_VALUE for anything else.
/// Under unified addressing the address names the owner: `current` may be null (Numba's own tests free after popping the context).
CUresult free_device_memory(Context* current, CUdeviceptr address);

/// Waits for what may still use memory of a context: the work of the one that is current, if any, and of the owner.
CUresult wait_for_users(Context* current, std::uint64_t owner);

}  // namespace cupool::simgpu
