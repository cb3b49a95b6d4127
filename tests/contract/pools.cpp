// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tests/contract/areas.h"

namespace contract {
namespace {

constexpr std::size_t kMiB = 1 << 20;

cuuint64_t attribute(const Driver& driver, CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = 99;
  driver.cuMemPoolGetAttribute(pool, which, &value);
  return value;
}

CUmemPoolProps device_pool(CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = handles;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  return properties;
}

void observe_default(const Driver& driver, Observer& observer, CUstream stream) {
  CUmemoryPool pool = nullptr, current = nullptr;
  observer.expect("default", driver.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS, Source::header);
  driver.cuDeviceGetMemPool(&current, 0);
  observer.expect("default_is_current", pool == current && pool != nullptr, Source::header);
  observer.expect("default_null", driver.cuDeviceGetDefaultMemPool(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("default_bad_device", driver.cuDeviceGetDefaultMemPool(&current, 4711), CUDA_ERROR_INVALID_DEVICE,
                  Source::header);
  observer.expect("threshold_0", attribute(driver, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), cuuint64_t{0}, Source::header);
  int reuse = -1;
  driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &reuse);
  observer.expect("reuse_follow_events_on", reuse, 1, Source::header);
  driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse);
  observer.expect("reuse_opportunistic_on", reuse, 1, Source::header);
  driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &reuse);
  observer.expect("reuse_internal_on", reuse, 1, Source::header);

  CUdeviceptr pointer = 77;
  observer.expect("alloc", driver.cuMemAllocAsync(&pointer, 3 * kMiB, stream), CUDA_SUCCESS, Source::header);
  observer.expect("alloc_aligned_512", pointer % 512, CUdeviceptr{0}, Source::sheet);
  observer.expect("used_counts", attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 3 * kMiB, Source::header);
  observer.expect(
      "reserved_covers_used",
      attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
      Source::header);
  observer.expect("usable_in_order", driver.cuMemsetD8Async(pointer, 1, 3 * kMiB, stream), CUDA_SUCCESS, Source::header);
  unsigned type = 0;
  driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  observer.expect("type_device", type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), Source::header);
  CUmemoryPool of_pointer = nullptr;
  driver.cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer);
  observer.expect("pointer_names_its_pool", of_pointer == pool, Source::header);
  observer.expect("free", driver.cuMemFreeAsync(pointer, stream), CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(stream);
  observer.expect("used_falls", attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), cuuint64_t{0}, Source::header);
  observer.expect("used_high_stays", attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 3 * kMiB, Source::header);
  observer.expect("free_twice", driver.cuMemFreeAsync(pointer, stream), CUDA_ERROR_INVALID_VALUE, Source::known);
  observer.expect("alloc_zero", driver.cuMemAllocAsync(&pointer, 0, stream), CUDA_ERROR_INVALID_VALUE, Source::open);
  observer.expect("alloc_null", driver.cuMemAllocAsync(nullptr, 512, stream), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("alloc_too_much", driver.cuMemAllocAsync(&pointer, std::size_t{1} << 50, stream), CUDA_ERROR_OUT_OF_MEMORY,
                  Source::header);
  driver.cuMemAllocAsync(&pointer, kMiB, stream);
  driver.cuStreamSynchronize(stream);
  observer.expect("plain_free_takes_it", driver.cuMemFree_v2(pointer), CUDA_SUCCESS, Source::header);
  observer.expect("default_destroy", driver.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("default_trim", driver.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS, Source::header);
  observer.expect("default_trimmed", attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), cuuint64_t{0}, Source::header);
}

void observe_own(const Driver& driver, Observer& observer, CUstream stream) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties = device_pool();
  observer.expect("create", driver.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS, Source::header);
  observer.expect("create_null", driver.cuMemPoolCreate(nullptr, &properties), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_null_properties", driver.cuMemPoolCreate(&pool, nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUmemPoolProps bad = device_pool();
  bad.location.id = 4711;
  CUmemoryPool none = nullptr;
  observer.open("create_bad_device", driver.cuMemPoolCreate(&none, &bad));
  cuuint64_t threshold = 64 * kMiB;
  observer.expect("set_threshold", driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), CUDA_SUCCESS,
                  Source::header);
  observer.expect("threshold_kept", attribute(driver, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold, Source::header);
  cuuint64_t value = 5;
  observer.expect("set_read_only", driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  CUdeviceptr pointer = 0;
  observer.expect("alloc_from", driver.cuMemAllocFromPoolAsync(&pointer, 5 * kMiB, pool, stream), CUDA_SUCCESS, Source::header);
  observer.expect("alloc_from_null_pool", driver.cuMemAllocFromPoolAsync(&pointer, 5 * kMiB, nullptr, stream) != CUDA_SUCCESS,
                  Source::header);
  driver.cuMemFreeAsync(pointer, stream);
  driver.cuStreamSynchronize(stream);
  observer.expect("threshold_keeps_memory", attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 5 * kMiB,
                  Source::header);
  observer.expect("trim", driver.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS, Source::header);
  observer.expect("trim_gives_back", attribute(driver, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), cuuint64_t{0}, Source::header);
  value = 0;
  observer.expect("reset_high", driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_SUCCESS,
                  Source::header);
  observer.expect("high_is_reset", attribute(driver, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), cuuint64_t{0}, Source::header);
  CUmemAccess_flags flags{};
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  observer.expect("access", driver.cuMemPoolGetAccess(&flags, pool, &here), CUDA_SUCCESS, Source::header);
  observer.expect("access_own_device", static_cast<int>(flags), 3, Source::header);
  CUmemAccessDesc revoke{};
  revoke.location = here;
  revoke.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  observer.expect("access_cannot_be_taken_from_own_device", driver.cuMemPoolSetAccess(pool, &revoke, 1), CUDA_ERROR_INVALID_VALUE,
                  Source::open);
  int descriptor = -1;
  observer.expect("export_without_type",
                  driver.cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_ERROR_INVALID_VALUE, Source::open);
  observer.expect("set_current", driver.cuDeviceSetMemPool(0, pool), CUDA_SUCCESS, Source::header);
  CUmemoryPool current = nullptr;
  driver.cuDeviceGetMemPool(&current, 0);
  observer.expect("current_is_own", current == pool, Source::header);
  observer.expect("destroy", driver.cuMemPoolDestroy(pool), CUDA_SUCCESS, Source::header);
  driver.cuDeviceGetMemPool(&current, 0);
  CUmemoryPool standard = nullptr;
  driver.cuDeviceGetDefaultMemPool(&standard, 0);
  observer.expect("destroy_of_current_restores_default", current == standard, Source::header);
}

void observe_limit(const Driver& driver, Observer& observer, CUstream stream) {
  CUmemPoolProps properties = device_pool();
  properties.maxSize = 32 * kMiB;
  CUmemoryPool pool = nullptr;
  driver.cuMemPoolCreate(&pool, &properties);
  std::vector<CUdeviceptr> blocks;
  CUresult last = CUDA_SUCCESS;
  for (int index = 0; index < 64 && last == CUDA_SUCCESS; ++index) {
    CUdeviceptr pointer = 0;
    last = driver.cuMemAllocFromPoolAsync(&pointer, 8 * kMiB, pool, stream);
    if (last == CUDA_SUCCESS) blocks.push_back(pointer);
  }
  observer.expect("max_size_refuses", last, CUDA_ERROR_OUT_OF_MEMORY, Source::header);
  observer.expect("max_size_serves_first", blocks.size() >= 4, Source::header);
  for (const CUdeviceptr pointer : blocks) driver.cuMemFreeAsync(pointer, stream);
  driver.cuStreamSynchronize(stream);
  driver.cuMemPoolDestroy(pool);
}

}  // namespace

void observe_pools(const Driver& driver, Observer& observer) {
  observer.area("pool");
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  observe_default(driver, observer, stream);
  observe_own(driver, observer, stream);
  observe_limit(driver, observer, stream);
  driver.cuStreamDestroy_v2(stream);
}

}  // namespace contract
