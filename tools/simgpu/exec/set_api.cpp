// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memset of all widths, in one and two dimensions.
#include "tools/simgpu/exec/copy_issue.h"
#include "tools/simgpu/exec/forms.h"

using namespace cupool::simgpu;

namespace {

CUresult set(EntryId id, StreamMode mode, CUstream handle, CopyCall kind, const CUDA_MEMSET_NODE_PARAMS& what) {
  return enter_stream(
      id, Needs::context, mode, handle, [&](Call&, Stream& stream) { return issue_set(stream, what, kind); }, what.dst, what.value,
      what.width);
}

template <EntryId id, StreamMode mode, class Value>
CUresult set_row(CUdeviceptr to, Value value, std::size_t count) {
  return set(id, mode, nullptr, CopyCall::synchronous, {to, 0, value, sizeof(Value), count, 1});
}
template <EntryId id, StreamMode mode, class Value>
CUresult set_row_async(CUdeviceptr to, Value value, std::size_t count, CUstream stream) {
  return set(id, mode, stream, CopyCall::asynchronous, {to, 0, value, sizeof(Value), count, 1});
}
template <EntryId id, StreamMode mode, class Value>
CUresult set_rows(CUdeviceptr to, std::size_t pitch, Value value, std::size_t width, std::size_t height) {
  return set(id, mode, nullptr, CopyCall::synchronous, {to, pitch, value, sizeof(Value), width, height});
}
template <EntryId id, StreamMode mode, class Value>
CUresult set_rows_async(CUdeviceptr to, std::size_t pitch, Value value, std::size_t width, std::size_t height, CUstream stream) {
  return set(id, mode, stream, CopyCall::asynchronous, {to, pitch, value, sizeof(Value), width, height});
}

}  // namespace

SIMGPU_FORMS(cuMemsetD8_v2, cuMemsetD8_v2_ptds, set_row, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))
SIMGPU_FORMS(cuMemsetD16_v2, cuMemsetD16_v2_ptds, set_row, (CUdeviceptr to, unsigned short value, size_t count), (to, value, count))
SIMGPU_FORMS(cuMemsetD32_v2, cuMemsetD32_v2_ptds, set_row, (CUdeviceptr to, unsigned int value, size_t count), (to, value, count))
SIMGPU_FORMS(cuMemsetD8Async, cuMemsetD8Async_ptsz, set_row_async,
             (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), (to, value, count, stream))
SIMGPU_FORMS(cuMemsetD16Async, cuMemsetD16Async_ptsz, set_row_async,
             (CUdeviceptr to, unsigned short value, size_t count, CUstream stream), (to, value, count, stream))
SIMGPU_FORMS(cuMemsetD32Async, cuMemsetD32Async_ptsz, set_row_async,
             (CUdeviceptr to, unsigned int value, size_t count, CUstream stream), (to, value, count, stream))
SIMGPU_FORMS(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, set_rows,
             (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height), (to, pitch, value, width, height))
SIMGPU_FORMS(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, set_rows,
             (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height), (to, pitch, value, width, height))
SIMGPU_FORMS(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, set_rows,
             (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height), (to, pitch, value, width, height))
SIMGPU_FORMS(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, set_rows_async,
             (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
SIMGPU_FORMS(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, set_rows_async,
             (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
SIMGPU_FORMS(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, set_rows_async,
             (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
