// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/operation.h"

namespace cupool::simgpu {

/// Does the parts from `done` on, as far as their conditions hold; `waiting` says that one does not hold yet.
/// CUDA_ERROR_ILLEGAL_ADDRESS for a value that the device cannot reach.
CUresult advance(const MemoryOperation& operation, Context& context, std::size_t& done, bool& waiting);

/// What the driver refuses when the call is made.
CUresult check_memory_operations(const CUstreamBatchMemOpParams* parts, unsigned count);

}  // namespace cupool::simgpu
