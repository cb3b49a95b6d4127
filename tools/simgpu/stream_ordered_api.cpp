// SPDX-License-Identifier: Apache-2.0
//
// Entry points: stream-ordered allocation, and which pool a device allocates from.
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/pool.h"
#include "tools/simgpu/stream_ordered.h"

using namespace cupool::simgpu;

namespace {

constexpr auto kDevicePlace = CU_MEM_LOCATION_TYPE_DEVICE;
constexpr auto kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;

CUresult allocate(Call& call, CUdeviceptr* out, std::size_t bytes, CUstream stream, StreamMode mode) {
  call.bytes = bytes;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device& device = call.context->device();
  if (!device.model->memory_pools) return CUDA_ERROR_NOT_SUPPORTED;
  return allocate_in_stream(*call.context, pools().current_pool(device, kDevicePlace, kPinned), bytes, stream, mode, *out);
}

CUresult allocate_from(Call& call, CUdeviceptr* out, std::size_t bytes, CUmemoryPool handle, CUstream stream, StreamMode mode) {
  call.bytes = bytes;
  const auto pool = pools().find(handle);
  if (out == nullptr || pool == nullptr || pool->is_imported()) return CUDA_ERROR_INVALID_VALUE;
  return allocate_in_stream(*call.context, pool, bytes, stream, mode, *out);
}

// The device that a location names; a host location goes by the first one, whose process-wide pool it is.
CUresult device_at(const CUmemLocation* location, CUmemAllocationType type, Device*& device) {
  if (location == nullptr || (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED))
    return CUDA_ERROR_INVALID_VALUE;
  switch (static_cast<int>(location->type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      device = driver().device(location->id);
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      device = driver().device(0);
      break;
    case CU_MEM_LOCATION_TYPE_NONE:
      if (type != CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
      device = driver().device(0);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult device_pool(CUmemoryPool* out, CUdevice ordinal, bool is_default) {
  Device* device = driver().device(ordinal);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (!device->model->memory_pools) return CUDA_ERROR_NOT_SUPPORTED;
  const auto pool =
      is_default ? pools().default_pool(*device, kDevicePlace, kPinned) : pools().current_pool(*device, kDevicePlace, kPinned);
  *out = pool->handle();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return enter(
      EntryId::cuMemAllocAsync, Needs::context, [&](Call& call) { return allocate(call, out, bytes, stream, StreamMode::legacy); },
      out, bytes, stream);
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return enter(
      EntryId::cuMemAllocAsync_ptsz, Needs::context,
      [&](Call& call) { return allocate(call, out, bytes, stream, StreamMode::per_thread); }, out, bytes, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return enter(
      EntryId::cuMemAllocFromPoolAsync, Needs::context,
      [&](Call& call) { return allocate_from(call, out, bytes, pool, stream, StreamMode::legacy); }, out, bytes, pool, stream);
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return enter(
      EntryId::cuMemAllocFromPoolAsync_ptsz, Needs::context,
      [&](Call& call) { return allocate_from(call, out, bytes, pool, stream, StreamMode::per_thread); }, out, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return enter(
      EntryId::cuMemFreeAsync, Needs::context,
      [&](Call& call) { return free_in_stream(*call.context, address, stream, StreamMode::legacy); }, address, stream);
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return enter(
      EntryId::cuMemFreeAsync_ptsz, Needs::context,
      [&](Call& call) { return free_in_stream(*call.context, address, stream, StreamMode::per_thread); }, address, stream);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetDefaultMemPool, Needs::init, [&](Call&) { return device_pool(out, ordinal, true); }, out, ordinal);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetMemPool, Needs::init, [&](Call&) { return device_pool(out, ordinal, false); }, out, ordinal);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  return enter(
      EntryId::cuDeviceSetMemPool, Needs::init,
      [&](Call&) -> CUresult {
        Device* device = driver().device(ordinal);
        auto pool = pools().find(handle);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (pool == nullptr || pool->gpu() != device->gpu || pool->properties().location.type != kDevicePlace)
          return CUDA_ERROR_INVALID_VALUE;
        pools().set_current(*device, kDevicePlace, kPinned, std::move(pool));
        return CUDA_SUCCESS;
      },
      ordinal, handle);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return enter(
      EntryId::cuMemGetDefaultMemPool, Needs::init,
      [&](Call&) -> CUresult {
        Device* device = nullptr;
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = device_at(location, type, device); code != CUDA_SUCCESS) return code;
        *out = pools().default_pool(*device, location->type, type)->handle();
        return CUDA_SUCCESS;
      },
      out, location, type);
}

CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return enter(
      EntryId::cuMemGetMemPool, Needs::init,
      [&](Call&) -> CUresult {
        Device* device = nullptr;
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = device_at(location, type, device); code != CUDA_SUCCESS) return code;
        *out = pools().current_pool(*device, location->type, type)->handle();
        return CUDA_SUCCESS;
      },
      out, location, type);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  return enter(
      EntryId::cuMemSetMemPool, Needs::init,
      [&](Call&) -> CUresult {
        Device* device = nullptr;
        auto pool = pools().find(handle);
        if (const CUresult code = device_at(location, type, device); code != CUDA_SUCCESS) return code;
        if (pool == nullptr || pool->properties().allocType != type || pool->properties().location.type != location->type) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        pools().set_current(*device, location->type, type, std::move(pool));
        return CUDA_SUCCESS;
      },
      location, type, handle);
}
