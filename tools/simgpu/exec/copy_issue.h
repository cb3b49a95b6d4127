// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/exec/copy_job.h"

namespace cupool::simgpu {

class Stream;

/// When a copy call returns.
enum class CopyCall {
  synchronous,   ///< when the bytes are there; between devices and on them when the copy has been handed in, as the driver has it
  asynchronous,  ///< when it has been handed in; pageable memory is read before that, and a pageable target written before that
};

/// Hands a copy in to a stream, or makes it a node of the capture. CUDA_ERROR_INVALID_VALUE for null addresses.
CUresult issue_copy(Stream& stream, CopyJob job, CopyCall call);

/// The same for memset; sets of memory on a device return when they have been handed in, others when done unless asynchronous.
CUresult issue_set(Stream& stream, const CUDA_MEMSET_NODE_PARAMS& set, CopyCall call);

/// What the driver refuses about a set: CUDA_ERROR_INVALID_VALUE for a null, misaligned or too narrowly pitched target.
CUresult check_set(const CUDA_MEMSET_NODE_PARAMS& set);

}  // namespace cupool::simgpu
