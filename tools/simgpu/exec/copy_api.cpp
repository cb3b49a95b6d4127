// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies of one stretch of bytes.
#include "tools/simgpu/exec/copy_issue.h"
#include "tools/simgpu/exec/forms.h"

using namespace cupool::simgpu;

namespace {

using Space = CopySide::Space;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

CUresult copy(EntryId id, StreamMode mode, CUstream handle, CopyCall kind, Space to_space, std::uint64_t to, Space from_space,
              std::uint64_t from, std::size_t bytes) {
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) {
        return issue_copy(stream, flat_copy(to_space, to, from_space, from, bytes, stream.context()), kind);
      },
      to, from, bytes);
}

CUresult copy_peer(EntryId id, StreamMode mode, CUstream handle, CopyCall kind, CUdeviceptr to, CUcontext to_context,
                   CUdeviceptr from, CUcontext from_context, std::size_t bytes) {
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) -> CUresult {
        const std::shared_ptr<Context> target = Context::from_handle(to_context);
        const std::shared_ptr<Context> source = Context::from_handle(from_context);
        if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        CopyJob job = flat_copy(Space::device, to, Space::device, from, bytes, stream.context());
        job.to.context = target.get();
        job.from.context = source.get();
        return issue_copy(stream, std::move(job), kind);
      },
      to, from, bytes);
}

template <EntryId id, StreamMode mode>
CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(id, mode, nullptr, CopyCall::synchronous, Space::unified, to, Space::unified, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(id, mode, nullptr, CopyCall::synchronous, Space::device, to, Space::host, number(from), bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(id, mode, nullptr, CopyCall::synchronous, Space::host, number(to), Space::device, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_within(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(id, mode, nullptr, CopyCall::synchronous, Space::device, to, Space::device, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes) {
  return copy_peer(id, mode, nullptr, CopyCall::synchronous, to, to_context, from, from_context, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_any_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(id, mode, stream, CopyCall::asynchronous, Space::unified, to, Space::unified, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_in_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy(id, mode, stream, CopyCall::asynchronous, Space::device, to, Space::host, number(from), bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_out_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(id, mode, stream, CopyCall::asynchronous, Space::host, number(to), Space::device, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_within_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(id, mode, stream, CopyCall::asynchronous, Space::device, to, Space::device, from, bytes);
}
template <EntryId id, StreamMode mode>
CUresult copy_between_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                            CUstream stream) {
  return copy_peer(id, mode, stream, CopyCall::asynchronous, to, to_context, from, from_context, bytes);
}

}  // namespace

SIMGPU_FORMS(cuMemcpy, cuMemcpy_ptds, copy_any, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
SIMGPU_FORMS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, copy_in, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
SIMGPU_FORMS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, copy_out, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
SIMGPU_FORMS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, copy_within, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
             (to, from, bytes))
SIMGPU_FORMS(cuMemcpyPeer, cuMemcpyPeer_ptds, copy_between,
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes),
             (to, to_context, from, from_context, bytes))
SIMGPU_FORMS(cuMemcpyAsync, cuMemcpyAsync_ptsz, copy_any_async, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
             (to, from, bytes, stream))
SIMGPU_FORMS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, copy_in_async,
             (CUdeviceptr to, const void* from, size_t bytes, CUstream stream), (to, from, bytes, stream))
SIMGPU_FORMS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, copy_out_async,
             (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
SIMGPU_FORMS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, copy_within_async,
             (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
SIMGPU_FORMS(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, copy_between_async,
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream),
             (to, to_context, from, from_context, bytes, stream))
