// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "tests/contract/areas.h"

namespace contract {
namespace {

void observe_pinned(const Driver& driver, Observer& observer) {
  void* host = nullptr;
  observer.expect("pinned", driver.cuMemHostAlloc(&host, 8192, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS, Source::header);
  std::memset(host, 7, 8192);
  CUdeviceptr device = 0;
  observer.expect("pinned_device_pointer", driver.cuMemHostGetDevicePointer_v2(&device, host, 0), CUDA_SUCCESS, Source::header);
  observer.expect("pinned_one_address", device == reinterpret_cast<CUdeviceptr>(host), Source::header);
  unsigned flags = 0;
  observer.expect("pinned_flags", driver.cuMemHostGetFlags(&flags, host), CUDA_SUCCESS, Source::header);
  observer.expect("pinned_flags_hold_portable", (flags & CU_MEMHOSTALLOC_PORTABLE) != 0, Source::header);
  unsigned type = 0;
  driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device);
  observer.expect("pinned_type_host", type, static_cast<unsigned>(CU_MEMORYTYPE_HOST), Source::header);
  void* host_pointer = nullptr;
  driver.cuPointerGetAttribute(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, device);
  observer.expect("pinned_host_pointer", host_pointer == host, Source::header);
  driver.cuMemsetD8_v2(device, 3, 16);
  driver.cuCtxSynchronize();
  observer.expect("pinned_device_writes_are_seen",
                  static_cast<unsigned char*>(host)[15] == 3 && static_cast<unsigned char*>(host)[16] == 7, Source::header);
  observer.expect("pinned_free", driver.cuMemFreeHost(host), CUDA_SUCCESS, Source::header);
  observer.expect("pinned_free_twice", driver.cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("pinned_zero", driver.cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_VALUE, Source::open);
  observer.expect("pinned_null", driver.cuMemHostAlloc(nullptr, 16, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("pinned_flags_nonsense", driver.cuMemHostAlloc(&host, 16, 0x100), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("pinned_old_call", driver.cuMemAllocHost_v2(&host, 100), CUDA_SUCCESS, Source::header);
  driver.cuMemFreeHost(host);
}

void observe_registered(const Driver& driver, Observer& observer) {
  void* memory = std::aligned_alloc(4096, 16384);
  std::memset(memory, 5, 16384);
  observer.expect("register", driver.cuMemHostRegister_v2(memory, 16384, 0), CUDA_SUCCESS, Source::header);
  observer.expect("register_twice", driver.cuMemHostRegister_v2(memory, 16384, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  Source::header);
  CUdeviceptr device = 0;
  observer.expect("register_device_pointer", driver.cuMemHostGetDevicePointer_v2(&device, memory, 0), CUDA_SUCCESS, Source::header);
  driver.cuMemsetD8_v2(device + 100, 8, 4);
  driver.cuCtxSynchronize();
  observer.expect("register_device_writes_are_seen", static_cast<unsigned char*>(memory)[100] == 8, Source::header);
  observer.expect("unregister", driver.cuMemHostUnregister(memory), CUDA_SUCCESS, Source::header);
  observer.expect("unregister_twice", driver.cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, Source::header);
  observer.expect("register_null", driver.cuMemHostRegister_v2(nullptr, 4096, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("register_nothing", driver.cuMemHostRegister_v2(memory, 0, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("device_pointer_of_plain_memory", driver.cuMemHostGetDevicePointer_v2(&device, memory, 0),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("free_of_plain_memory", driver.cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE, Source::header);
  std::free(memory);
}

void observe_managed(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 0;
  observer.expect("managed", driver.cuMemAllocManaged(&pointer, 1 << 20, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS, Source::header);
  auto* bytes = reinterpret_cast<unsigned char*>(pointer);
  std::memset(bytes, 1, 1 << 20);
  driver.cuMemsetD8_v2(pointer + 10, 2, 10);
  driver.cuCtxSynchronize();
  observer.expect("managed_both_sides", bytes[9] == 1 && bytes[10] == 2 && bytes[20] == 1, Source::header);
  unsigned managed = 0;
  driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  observer.expect("managed_says_so", managed, 1u, Source::header);
  unsigned type = 0;
  observer.expect("managed_type", driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), CUDA_SUCCESS,
                  Source::header);
  observer.open("managed_type_device", type == CU_MEMORYTYPE_DEVICE);
  observer.expect("managed_free", driver.cuMemFree_v2(pointer), CUDA_SUCCESS, Source::header);
  observer.expect("managed_free_twice", driver.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("managed_zero", driver.cuMemAllocManaged(&pointer, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("managed_flags_none", driver.cuMemAllocManaged(&pointer, 4096, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("managed_null", driver.cuMemAllocManaged(nullptr, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
}

}  // namespace

void observe_host_memory(const Driver& driver, Observer& observer) {
  observer.area("host");
  observe_pinned(driver, observer);
  observe_registered(driver, observer);
  observe_managed(driver, observer);
}

}  // namespace contract
