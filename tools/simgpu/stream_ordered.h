// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/pool.h"

namespace cupool::simgpu {

/// cuMemAllocFromPoolAsync. The address is usable by work that follows in the stream.
CUresult allocate_in_stream(Context& context, const std::shared_ptr<MemoryPool>& pool, std::uint64_t bytes, CUstream handle,
                            StreamMode mode, CUdeviceptr& out);

/// cuMemFreeAsync of a stream-ordered or imported block: the memory is given back when the stream gets there.
CUresult free_in_stream(Context& context, CUdeviceptr address, CUstream handle, StreamMode mode);

/// Gives a stream-ordered or imported block back at once: cuMemFree. False when there is none at `address`.
bool free_stream_ordered_now(CUdeviceptr address);

}  // namespace cupool::simgpu
