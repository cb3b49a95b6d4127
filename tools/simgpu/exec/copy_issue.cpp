// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/copy_issue.h"

#include <utility>

#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/issue.h"
#include "tools/simgpu/exec/operation.h"
#include "tools/simgpu/exec/stream_object.h"

namespace cupool::simgpu {
namespace {

bool is_captured(const Stream& stream) {
  if (!is_any_capture_open()) return false;
  const std::lock_guard lock(capture_mutex());
  return stream.capture != nullptr;
}

}  // namespace

CUresult issue_copy(Stream& stream, CopyJob job, CopyCall call) {
  if (job.bytes() == 0) return CUDA_SUCCESS;
  if (job.from.address == 0 || job.to.address == 0) return CUDA_ERROR_INVALID_VALUE;
  const Reach from = reach_of(job.from, job);
  const Reach to = reach_of(job.to, job);
  if (from == Reach::beyond_end || to == Reach::beyond_end) return CUDA_ERROR_INVALID_VALUE;
  job.is_stray = from == Reach::stray || to == Reach::stray;
  bool waits = false;
  if (call == CopyCall::synchronous) {
    waits = !is_device_side(job.from) || !is_device_side(job.to);
  } else if (!is_captured(stream)) {
    // Pageable memory goes through the driver's staging buffer: read before the call returns, or written before it returns.
    waits = is_pageable(job.to);
    if (!waits && is_pageable(job.from)) stage_source(job);
  }
  SharedOperation operation = make_operation(stream.context(), CopyOperation{std::move(job), {}});
  return waits ? issue_and_wait(stream, std::move(operation)) : issue(stream, std::move(operation));
}

CUresult check_set(const CUDA_MEMSET_NODE_PARAMS& set) {
  if (set.elementSize != 1 && set.elementSize != 2 && set.elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  if (set.dst == 0 || set.dst % set.elementSize != 0) return CUDA_ERROR_INVALID_VALUE;
  if (set.height > 1 && (set.pitch < set.width * set.elementSize || set.pitch % set.elementSize != 0))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult issue_set(Stream& stream, const CUDA_MEMSET_NODE_PARAMS& set, CopyCall call) {
  if (set.width == 0 || set.height == 0) return CUDA_SUCCESS;
  if (const CUresult code = check_set(set); code != CUDA_SUCCESS) return code;
  const std::uint64_t end = (set.height - 1) * set.pitch + set.width * set.elementSize;
  if (reach_of(set.dst, end) == Reach::beyond_end) return CUDA_ERROR_INVALID_VALUE;
  SharedOperation operation = make_operation(stream.context(), set);
  const bool waits = call == CopyCall::synchronous && !page_table().in_device_range(set.dst);
  return waits ? issue_and_wait(stream, std::move(operation)) : issue(stream, std::move(operation));
}

}  // namespace cupool::simgpu
