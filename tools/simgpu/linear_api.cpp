// SPDX-License-Identifier: Apache-2.0
//
// Entry points: linear and pitched memory, and how much of it there is.
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/linear_free.h"
#include "tools/simgpu/memory.h"

using namespace cupool::simgpu;

namespace {

// What hardware returns for 2D copies and textures alike: a multiple of 512 bytes (the texture pitch alignment divides it).
constexpr std::size_t kPitchStep = 512;

CUresult allocate_pitched(Context& context, std::size_t width, std::size_t height, unsigned element, CUdeviceptr& out,
                          std::size_t& pitch) {
  if (width == 0 || height == 0 || (element != 4 && element != 8 && element != 16)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t wide = (width + kPitchStep - 1) / kPitchStep * kPitchStep;
  std::size_t bytes = 0;
  if (wide < width || __builtin_mul_overflow(wide, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult code = memory().allocate(context, bytes, MemoryKind::linear, out);
  if (code == CUDA_SUCCESS) pitch = wide;
  return code;
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return enter(
      EntryId::cuMemAlloc_v2, Needs::context | Needs::uncaptured,
      [&](Call& call) -> CUresult {
        call.bytes = bytes;
        if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
        return memory().allocate(*call.context, bytes, MemoryKind::linear, *out);
      },
      out, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned int element) {
  return enter(
      EntryId::cuMemAllocPitch_v2, Needs::context | Needs::uncaptured,
      [&](Call& call) -> CUresult {
        call.bytes = width * height;
        if (out == nullptr || pitch == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return allocate_pitched(*call.context, width, height, element, *out, *pitch);
      },
      out, pitch, width, height, element);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return enter(
      EntryId::cuMemFree_v2, Needs::context_if_any | Needs::uncaptured,
      [&](Call& call) { return free_device_memory(call.context, address); }, address);
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return enter(
      EntryId::cuMemGetInfo_v2, Needs::context,
      [&](Call& call) -> CUresult {
        if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto usage = driver().connection().usage(call.context->device().gpu);
        if (!usage) return CUDA_ERROR_UNKNOWN;
        *free = usage->total - usage->used;
        *total = usage->total;
        return CUDA_SUCCESS;
      },
      free, total);
}
