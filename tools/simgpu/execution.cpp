// SPDX-License-Identifier: Apache-2.0
//
// The execution side of a driver without streams: everything is done at once, in the calling thread.
#include "tools/simgpu/execution.h"

#include "tools/simgpu/context.h"

namespace cupool::simgpu {

void execution_attach(Context&) {}
void execution_detach(Context& context) {
  context.execution.reset();
}
CUresult wait_idle(Context& context) {
  return context.sticky();
}
CUresult capture_verdict() {
  return CUDA_SUCCESS;
}

CUresult stream_of(Context&, CUstream, StreamMode, StreamRef& stream) {
  stream = std::make_shared<int>(0);
  return CUDA_SUCCESS;
}

bool is_capturing(const StreamRef&) {
  return false;
}

CUresult enqueue(const StreamRef&, std::function<void()> when_reached) {
  when_reached();
  return CUDA_SUCCESS;
}

std::uint64_t stream_number(const StreamRef&) {
  return 0;
}

}  // namespace cupool::simgpu
