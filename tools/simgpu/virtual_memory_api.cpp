// SPDX-License-Identifier: Apache-2.0
//
// Entry points: virtual memory management. None of them needs a context.
#include "tools/simgpu/entry.h"
#include "tools/simgpu/virtual_memory.h"

using namespace cupool::simgpu;

namespace {

constexpr Needs kUnsafe = Needs::init | Needs::uncaptured;

int descriptor_in(void* os_handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
}

CUresult check_handle_type(CUmemAllocationHandleType type) {
  switch (static_cast<int>(type)) {
    case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
      return CUDA_SUCCESS;
    case CU_MEM_HANDLE_TYPE_WIN32:
    case CU_MEM_HANDLE_TYPE_WIN32_KMT:
    case CU_MEM_HANDLE_TYPE_FABRIC:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags) {
  return enter(
      EntryId::cuMemAddressReserve, kUnsafe,
      [&](Call&) -> CUresult {
        if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        DeviceAddress base = 0;
        const CUresult code = virtual_memory().reserve(size, alignment, hint, base);
        if (code == CUDA_SUCCESS) *out = base;
        return code;
      },
      out, size, alignment, hint, flags);
}

CUresult cuMemAddressFree(CUdeviceptr base, size_t size) {
  return enter(
      EntryId::cuMemAddressFree, kUnsafe, [&](Call&) { return virtual_memory().free_reservation(base, size); }, base, size);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return enter(
      EntryId::cuMemCreate, kUnsafe,
      [&](Call& call) -> CUresult {
        call.bytes = size;
        if (out == nullptr || properties == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        return virtual_memory().create(size, *properties, *out);
      },
      out, size, properties, flags);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return enter(
      EntryId::cuMemRelease, kUnsafe, [&](Call&) { return virtual_memory().release(handle); }, handle);
}

CUresult cuMemMap(CUdeviceptr base, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return enter(
      EntryId::cuMemMap, kUnsafe,
      [&](Call&) -> CUresult { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : virtual_memory().map(base, size, offset, handle); },
      base, size, offset, handle, flags);
}

CUresult cuMemUnmap(CUdeviceptr base, size_t size) {
  return enter(
      EntryId::cuMemUnmap, kUnsafe, [&](Call&) { return virtual_memory().unmap(base, size); }, base, size);
}

CUresult cuMemSetAccess(CUdeviceptr base, size_t size, const CUmemAccessDesc* descriptions, size_t count) {
  return enter(
      EntryId::cuMemSetAccess, kUnsafe,
      [&](Call& call) {
        call.bytes = size;
        return virtual_memory().set_access(base, size, descriptions, count);
      },
      base, size, descriptions, count);
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return enter(
      EntryId::cuMemGetAccess, Needs::init,
      [&](Call&) -> CUresult {
        if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return virtual_memory().get_access(address, *location, *flags);
      },
      flags, location, address);
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return enter(
      EntryId::cuMemExportToShareableHandle, kUnsafe,
      [&](Call&) -> CUresult {
        if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = check_handle_type(type); code != CUDA_SUCCESS) return code;
        return virtual_memory().export_descriptor(handle, *static_cast<int*>(out));
      },
      out, handle, type, flags);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* os_handle, CUmemAllocationHandleType type) {
  return enter(
      EntryId::cuMemImportFromShareableHandle, kUnsafe,
      [&](Call&) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = check_handle_type(type); code != CUDA_SUCCESS) return code;
        return virtual_memory().import_descriptor(descriptor_in(os_handle), *out);
      },
      out, os_handle, type);
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return enter(
      EntryId::cuMemGetAllocationGranularity, Needs::init,
      [&](Call&) -> CUresult {
        if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
          return CUDA_ERROR_INVALID_VALUE;
        std::uint32_t gpu = 0;
        CUmemAllocationProp asked = *properties;
        asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;  // what may be granted is asked of cuMemCreate
        if (const CUresult code = check_properties(asked, gpu); code != CUDA_SUCCESS) return code;
        *granularity = kDevicePage;
        return CUDA_SUCCESS;
      },
      granularity, properties, option);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return enter(
      EntryId::cuMemGetAllocationPropertiesFromHandle, Needs::init,
      [&](Call&) -> CUresult {
        return properties == nullptr ? CUDA_ERROR_INVALID_VALUE : virtual_memory().properties(handle, *properties);
      },
      properties, handle);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return enter(
      EntryId::cuMemRetainAllocationHandle, Needs::init,
      [&](Call&) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return virtual_memory().retain(reinterpret_cast<DeviceAddress>(address), *out);
      },
      out, address);
}
