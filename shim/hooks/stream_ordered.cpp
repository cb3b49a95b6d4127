// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered allocation. The driver's own pools serve it, by their own rules; every allocation is charged when it is made and
// credited when it is freed, in stream order as the driver sees it. In a capture an allocation is a node of the graph: not memory
// yet.
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "shim/capture.h"
#include "shim/hooks/hooks.h"
#include "shim/real_driver.h"
#include "shim/serving.h"

namespace cupool {
namespace {

/// Which memory a pool hands out: a device's, or host memory, which is not charged. The current device's pools are not in it.
class PoolPlaces {
 public:
  void learn(CUmemoryPool pool, const CUmemLocation& place) {
    const std::lock_guard lock(mutex_);
    places_[pool] = place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : kHost;
  }
  void forget(CUmemoryPool pool) {
    const std::lock_guard lock(mutex_);
    places_.erase(pool);
  }
  bool is_on_host(CUmemoryPool pool) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(pool);
    return found != places_.end() && found->second == kHost;
  }

 private:
  static constexpr int kHost = -1;
  mutable std::mutex mutex_;
  std::unordered_map<CUmemoryPool, int> places_;
};

/// Never destroyed: hooks may run after static destructors.
PoolPlaces& places() {
  static auto* const the_places = new PoolPlaces;
  return *the_places;
}

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return shim::OpenCaptures::any() && driver::cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

template <class Call>
CUresult allocate(const char* entry, CUdeviceptr* address, size_t bytes, CUstream stream, const Call& call) {
  if (is_capturing(stream)) return call(address);
  // The driver's pools hand out memory in steps of 512 bytes.
  const Bytes given{round_up(bytes, 512).value_or(bytes)};
  return shim::serve_beside({entry, bytes}, pool::BesideKind::direct, given, address, call);
}

template <class Call>
CUresult allocate_from(const char* entry, CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream,
                       const Call& call) {
  if (places().is_on_host(pool)) return call(address);
  return allocate(entry, address, bytes, stream, call);
}

template <class Call>
CUresult free_in_order(CUdeviceptr address, CUstream stream, const Call& call) {
  if (is_capturing(stream)) return call();
  const auto found = shim::process().is_governed() ? shim::process().pool().query(pool::Address{address}) : std::nullopt;
  if (!found || found->beside) return shim::give_back(address, call);
  // A block of the pool, freed in stream order: the stream's own next work may have it, everybody else's only later.
  if (found->block.base.value != address) return CUDA_ERROR_INVALID_VALUE;
  return shim::give_back_in_order(address, stream);
}

}  // namespace

CUresult hook::cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate("cuMemAllocAsync", address, bytes, stream,
                  [&](CUdeviceptr* out) { return driver::cuMemAllocAsync(out, bytes, stream); });
}
CUresult hook::cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate("cuMemAllocAsync", address, bytes, stream,
                  [&](CUdeviceptr* out) { return driver::cuMemAllocAsync_ptsz(out, bytes, stream); });
}
CUresult hook::cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from("cuMemAllocFromPoolAsync", address, bytes, pool, stream,
                       [&](CUdeviceptr* out) { return driver::cuMemAllocFromPoolAsync(out, bytes, pool, stream); });
}
CUresult hook::cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from("cuMemAllocFromPoolAsync", address, bytes, pool, stream,
                       [&](CUdeviceptr* out) { return driver::cuMemAllocFromPoolAsync_ptsz(out, bytes, pool, stream); });
}
CUresult hook::cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return free_in_order(address, stream, [&] { return driver::cuMemFreeAsync(address, stream); });
}
CUresult hook::cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return free_in_order(address, stream, [&] { return driver::cuMemFreeAsync_ptsz(address, stream); });
}

CUresult hook::cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult code = driver::cuMemPoolCreate(pool, properties);
  if (code == CUDA_SUCCESS) places().learn(*pool, properties->location);
  return code;
}
CUresult hook::cuMemPoolDestroy(CUmemoryPool pool) {
  const CUresult code = driver::cuMemPoolDestroy(pool);
  if (code == CUDA_SUCCESS) places().forget(pool);
  return code;
}
CUresult hook::cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult code = driver::cuMemGetDefaultMemPool(pool, location, type);
  if (code == CUDA_SUCCESS) places().learn(*pool, *location);
  return code;
}
CUresult hook::cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult code = driver::cuMemGetMemPool(pool, location, type);
  if (code == CUDA_SUCCESS) places().learn(*pool, *location);
  return code;
}
CUresult hook::cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return driver::cuMemSetMemPool(location, type, pool);
}
CUresult hook::cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver::cuDeviceGetDefaultMemPool(pool, device);
}
CUresult hook::cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver::cuDeviceGetMemPool(pool, device);
}
CUresult hook::cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return driver::cuDeviceSetMemPool(device, pool);
}
CUresult hook::cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
  return driver::cuMemPoolTrimTo(pool, bytes);
}
CUresult hook::cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return driver::cuMemPoolSetAttribute(pool, attribute, value);
}
CUresult hook::cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return driver::cuMemPoolGetAttribute(pool, attribute, value);
}
CUresult hook::cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
  return driver::cuMemPoolSetAccess(pool, access, count);
}
CUresult hook::cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return driver::cuMemPoolGetAccess(flags, pool, location);
}
CUresult hook::cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool, CUmemAllocationHandleType type,
                                                unsigned long long flags) {
  return driver::cuMemPoolExportToShareableHandle(handle, pool, type, flags);
}
CUresult hook::cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle, CUmemAllocationHandleType type,
                                                  unsigned long long flags) {
  return driver::cuMemPoolImportFromShareableHandle(pool, handle, type, flags);
}
CUresult hook::cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  return driver::cuMemPoolExportPointer(data, address);
}
CUresult hook::cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  return driver::cuMemPoolImportPointer(address, pool, data);
}

}  // namespace cupool
