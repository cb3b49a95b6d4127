// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

class Context;

/// cuMemFree: linear, pitched, managed and stream-ordered memory by its base address; 0 is accepted (as observed on hardware).
/// Waits for running work first, except for stream-ordered memory. CUDA_ERROR_INVALID_VALUE for anything else.
CUresult free_device_memory(Context& current, CUdeviceptr address);

}  // namespace cupool::simgpu
