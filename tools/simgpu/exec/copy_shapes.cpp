// SPDX-License-Identifier: Apache-2.0
//
// From the structures of 2D and 3D copies to a CopyJob.
#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/copy_job.h"

namespace cupool::simgpu {
namespace {

/// What the three structures have in common about one side.
struct SideShape {
  CUmemorytype type;
  std::uint64_t host;
  CUdeviceptr device;
  std::size_t x;
  std::size_t y;
  std::size_t z;
  std::size_t pitch;
  std::size_t height;
};

CUresult side_of(const SideShape& shape, std::size_t width, std::size_t rows, Context& context, CopySide& side) {
  switch (shape.type) {
    case CU_MEMORYTYPE_HOST:
      side.space = CopySide::Space::host;
      side.address = shape.host;
      break;
    case CU_MEMORYTYPE_DEVICE:
      side.space = CopySide::Space::device;
      side.address = shape.device;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      side.space = CopySide::Space::unified;
      side.address = shape.device;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (side.address == 0) return CUDA_ERROR_INVALID_VALUE;
  // A pitch of zero means rows without a gap, as the driver takes it.
  side.pitch = shape.pitch != 0 ? shape.pitch : shape.x + width;
  if (side.pitch < shape.x + width) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t height = shape.height != 0 ? shape.height : shape.y + rows;
  if (height < shape.y + rows) return CUDA_ERROR_INVALID_VALUE;
  side.layer = side.pitch * height;
  side.address += shape.z * side.layer + shape.y * side.pitch + shape.x;
  side.context = &context;
  return CUDA_SUCCESS;
}

template <class Shape>
SideShape source_of(const Shape& shape, std::size_t z, std::size_t height) {
  return {shape.srcMemoryType, reinterpret_cast<std::uint64_t>(shape.srcHost),
          shape.srcDevice,     shape.srcXInBytes,
          shape.srcY,          z,
          shape.srcPitch,      height};
}

template <class Shape>
SideShape target_of(const Shape& shape, std::size_t z, std::size_t height) {
  return {shape.dstMemoryType, reinterpret_cast<std::uint64_t>(shape.dstHost),
          shape.dstDevice,     shape.dstXInBytes,
          shape.dstY,          z,
          shape.dstPitch,      height};
}

CUresult job_between(const SideShape& source, Context& source_context, const SideShape& target, Context& target_context,
                     CopyJob& job) {
  CUresult code = side_of(source, job.width, job.height, source_context, job.from);
  if (code == CUDA_SUCCESS) code = side_of(target, job.width, job.height, target_context, job.to);
  return code;
}

}  // namespace

CUresult job_of(const CUDA_MEMCPY2D& shape, Context& context, CopyJob& job) {
  job.width = shape.WidthInBytes;
  job.height = shape.Height;
  job.depth = 1;
  return job_between(source_of(shape, 0, 0), context, target_of(shape, 0, 0), context, job);
}

CUresult job_of(const CUDA_MEMCPY3D& shape, Context& context, CopyJob& job) {
  if (shape.srcLOD != 0 || shape.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  job.width = shape.WidthInBytes;
  job.height = shape.Height;
  job.depth = shape.Depth;
  return job_between(source_of(shape, shape.srcZ, shape.srcHeight), context, target_of(shape, shape.dstZ, shape.dstHeight), context,
                     job);
}

CUresult job_of(const CUDA_MEMCPY3D_PEER& shape, Context& context, CopyJob& job) {
  const auto owner = [&](CUcontext handle) { return handle == nullptr ? &context : Context::from_handle(handle).get(); };
  Context* const source = owner(shape.srcContext);
  Context* const target = owner(shape.dstContext);
  if (source == nullptr || target == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  job.width = shape.WidthInBytes;
  job.height = shape.Height;
  job.depth = shape.Depth;
  return job_between(source_of(shape, shape.srcZ, shape.srcHeight), *source, target_of(shape, shape.dstZ, shape.dstHeight), *target,
                     job);
}

}  // namespace cupool::simgpu
