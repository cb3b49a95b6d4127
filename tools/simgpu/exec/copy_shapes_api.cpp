// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies in two and three dimensions, and batches of copies.
#include <cstdint>

#include "tools/simgpu/exec/copy_issue.h"
#include "tools/simgpu/exec/forms.h"

using namespace cupool::simgpu;

namespace {

template <class Shape>
CUresult copy_shape(EntryId id, StreamMode mode, CUstream handle, CopyCall kind, const Shape* shape) {
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) -> CUresult {
        if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (shape->WidthInBytes == 0 || shape->Height == 0) return CUDA_SUCCESS;
        CopyJob job;
        const CUresult code = job_of(*shape, stream.context(), job);
        return code == CUDA_SUCCESS ? issue_copy(stream, std::move(job), kind) : code;
      },
      static_cast<const void*>(shape));
}

template <EntryId id, StreamMode mode, class Shape>
CUresult copy_now(const Shape* shape) {
  return copy_shape(id, mode, nullptr, CopyCall::synchronous, shape);
}
template <EntryId id, StreamMode mode, class Shape>
CUresult copy_later(const Shape* shape, CUstream stream) {
  return copy_shape(id, mode, stream, CopyCall::asynchronous, shape);
}

/// Which attributes hold for which of the copies: ascending starts, the first at zero.
bool are_attributes_valid(const CUmemcpyAttributes* attributes, const std::size_t* starts, std::size_t count, std::size_t copies) {
  if (count == 0 || count > copies || attributes == nullptr || starts == nullptr || starts[0] != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && starts[i] <= starts[i - 1]) return false;
    if (starts[i] >= copies) return false;
    const CUmemcpySrcAccessOrder order = attributes[i].srcAccessOrder;
    if (order != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
        order != CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
      return false;
    }
  }
  return true;
}

CUresult issue_batch_copy(Stream& stream, CopyJob job, CUmemcpySrcAccessOrder order) {
  if (order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL && job.from.address != 0) stage_source(job);
  return issue_copy(stream, std::move(job), CopyCall::asynchronous);
}

CUresult copy_batch(EntryId id, StreamMode mode, CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                    CUmemcpyAttributes* attributes, std::size_t* starts, std::size_t attribute_count, std::size_t* failed_at,
                    CUstream handle) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (failed_at != nullptr) *failed_at = SIZE_MAX;
    if (stream.is_legacy()) return CUDA_ERROR_INVALID_VALUE;
    if (to == nullptr || from == nullptr || sizes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!are_attributes_valid(attributes, starts, attribute_count, count)) return CUDA_ERROR_INVALID_VALUE;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (used + 1 < attribute_count && starts[used + 1] == i) ++used;
      CopyJob job = flat_copy(CopySide::Space::unified, to[i], CopySide::Space::unified, from[i], sizes[i], stream.context());
      const CUresult code =
          sizes[i] == 0 ? CUDA_ERROR_INVALID_VALUE : issue_batch_copy(stream, std::move(job), attributes[used].srcAccessOrder);
      if (code == CUDA_SUCCESS) continue;
      if (failed_at != nullptr) *failed_at = i;
      return code;
    }
    return CUDA_SUCCESS;
  });
}

CUresult side_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent, Context& context, CopySide& side) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_ERROR_INVALID_VALUE;
  const auto& pointer = operand.op.ptr;
  side.space = CopySide::Space::unified;
  side.address = pointer.ptr;
  side.pitch = pointer.rowLength != 0 ? pointer.rowLength : extent.width;
  side.layer = side.pitch * (pointer.layerHeight != 0 ? pointer.layerHeight : extent.height);
  side.context = &context;
  return side.pitch < extent.width ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult issue_box(Stream& stream, const CUDA_MEMCPY3D_BATCH_OP& box) {
  CopyJob job;
  CUresult code = side_of(box.src, box.extent, stream.context(), job.from);
  if (code == CUDA_SUCCESS) code = side_of(box.dst, box.extent, stream.context(), job.to);
  if (code != CUDA_SUCCESS) return code;
  job.width = box.extent.width;
  job.height = box.extent.height;
  job.depth = box.extent.depth;
  return issue_batch_copy(stream, std::move(job), box.srcAccessOrder);
}

CUresult copy_boxes(EntryId id, StreamMode mode, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, std::size_t* failed_at,
                    unsigned long long flags, CUstream handle) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (failed_at != nullptr) *failed_at = SIZE_MAX;
    if (stream.is_legacy() || flags != 0 || boxes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      const CUresult code = issue_box(stream, boxes[i]);
      if (code == CUDA_SUCCESS) continue;
      if (failed_at != nullptr) *failed_at = i;
      return code;
    }
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult batch_v1(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes* attributes,
                  std::size_t* starts, std::size_t attribute_count, std::size_t* failed_at, CUstream stream) {
  return copy_batch(id, mode, to, from, sizes, count, attributes, starts, attribute_count, failed_at, stream);
}
template <EntryId id, StreamMode mode>
CUresult batch_v2(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count, CUmemcpyAttributes* attributes,
                  std::size_t* starts, std::size_t attribute_count, CUstream stream) {
  return copy_batch(id, mode, to, from, sizes, count, attributes, starts, attribute_count, nullptr, stream);
}
template <EntryId id, StreamMode mode>
CUresult boxes_v1(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, std::size_t* failed_at, unsigned long long flags,
                  CUstream stream) {
  return copy_boxes(id, mode, count, boxes, failed_at, flags, stream);
}
template <EntryId id, StreamMode mode>
CUresult boxes_v2(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, unsigned long long flags, CUstream stream) {
  return copy_boxes(id, mode, count, boxes, nullptr, flags, stream);
}

}  // namespace

SIMGPU_FORMS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, copy_now, (const CUDA_MEMCPY2D* shape), (shape))
SIMGPU_FORMS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, copy_now, (const CUDA_MEMCPY2D* shape), (shape))
SIMGPU_FORMS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, copy_now, (const CUDA_MEMCPY3D* shape), (shape))
SIMGPU_FORMS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, copy_now, (const CUDA_MEMCPY3D_PEER* shape), (shape))
SIMGPU_FORMS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, copy_later, (const CUDA_MEMCPY2D* shape, CUstream stream),
             (shape, stream))
SIMGPU_FORMS(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, copy_later, (const CUDA_MEMCPY3D* shape, CUstream stream),
             (shape, stream))
SIMGPU_FORMS(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz, copy_later, (const CUDA_MEMCPY3D_PEER* shape, CUstream stream),
             (shape, stream))
SIMGPU_FORMS(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, batch_v1,
             (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes, size_t* starts,
              size_t attribute_count, size_t* failed_at, CUstream stream),
             (to, from, sizes, count, attributes, starts, attribute_count, failed_at, stream))
SIMGPU_FORMS(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz, batch_v2,
             (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes, size_t* starts,
              size_t attribute_count, CUstream stream),
             (to, from, sizes, count, attributes, starts, attribute_count, stream))
SIMGPU_FORMS(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz, boxes_v1,
             (size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, size_t* failed_at, unsigned long long flags, CUstream stream),
             (count, boxes, failed_at, flags, stream))
SIMGPU_FORMS(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz, boxes_v2,
             (size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, unsigned long long flags, CUstream stream),
             (count, boxes, flags, stream))
