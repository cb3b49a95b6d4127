// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "tests/contract/areas.h"

namespace contract {
namespace {

constexpr std::size_t kMiB = 1 << 20;

CUmemAllocationProp on_device(CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = handles;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  return properties;
}

CUmemAccessDesc read_write() {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

void observe_create(const Driver& driver, Observer& observer, std::size_t granularity) {
  CUmemAllocationProp properties = on_device();
  CUmemGenericAllocationHandle handle = 0;
  observer.expect("create_unaligned", driver.cuMemCreate(&handle, granularity + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("create_zero", driver.cuMemCreate(&handle, 0, &properties, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_flags", driver.cuMemCreate(&handle, granularity, &properties, 1), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("create_null", driver.cuMemCreate(nullptr, granularity, &properties, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("create_null_properties", driver.cuMemCreate(&handle, granularity, nullptr, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("create_too_much", driver.cuMemCreate(&handle, std::size_t{1} << 50, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY,
                  Source::header);
  CUmemAllocationProp bad = on_device();
  bad.location.id = 4711;
  observer.expect("create_bad_device", driver.cuMemCreate(&handle, granularity, &bad, 0), CUDA_ERROR_INVALID_DEVICE,
                  Source::header);
  bad = on_device();
  bad.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  observer.expect("create_bad_type", driver.cuMemCreate(&handle, granularity, &bad, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create", driver.cuMemCreate(&handle, granularity, &properties, 0), CUDA_SUCCESS, Source::header);
  CUmemAllocationProp read{};
  observer.expect("properties", driver.cuMemGetAllocationPropertiesFromHandle(&read, handle), CUDA_SUCCESS, Source::header);
  observer.expect("properties_same",
                  read.type == properties.type && read.location.id == 0 && read.location.type == CU_MEM_LOCATION_TYPE_DEVICE,
                  Source::header);
  observer.expect("release", driver.cuMemRelease(handle), CUDA_SUCCESS, Source::header);
  observer.expect("release_twice", driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE, Source::known);
}

void observe_reserve(const Driver& driver, Observer& observer, std::size_t granularity) {
  CUdeviceptr range = 0;
  observer.expect("reserve_zero", driver.cuMemAddressReserve(&range, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("reserve_unaligned", driver.cuMemAddressReserve(&range, granularity + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("reserve_alignment_3", driver.cuMemAddressReserve(&range, granularity, 3, 0, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("reserve_null", driver.cuMemAddressReserve(nullptr, granularity, 0, 0, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("reserve", driver.cuMemAddressReserve(&range, 4 * granularity, 0, 0, 0), CUDA_SUCCESS, Source::header);
  observer.expect("reserve_aligned", range % granularity, CUdeviceptr{0}, Source::header);
  observer.expect("range_free_part", driver.cuMemAddressFree(range, granularity), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("range_free", driver.cuMemAddressFree(range, 4 * granularity), CUDA_SUCCESS, Source::header);
  observer.expect("range_free_twice", driver.cuMemAddressFree(range, 4 * granularity), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("reserve_large", driver.cuMemAddressReserve(&range, std::size_t{1} << 40, 0, 0, 0), CUDA_SUCCESS, Source::sheet);
  driver.cuMemAddressFree(range, std::size_t{1} << 40);
}

void observe_map(const Driver& driver, Observer& observer, std::size_t granularity) {
  CUmemAllocationProp properties = on_device();
  const CUmemAccessDesc access = read_write();
  CUmemGenericAllocationHandle one = 0, two = 0;
  CUdeviceptr range = 0;
  driver.cuMemCreate(&one, granularity, &properties, 0);
  driver.cuMemCreate(&two, granularity, &properties, 0);
  driver.cuMemAddressReserve(&range, 4 * granularity, 0, 0, 0);
  observer.expect("map_offset", driver.cuMemMap(range, granularity, 512, one, 0) != CUDA_SUCCESS, Source::header);
  observer.expect("map_flags", driver.cuMemMap(range, granularity, 0, one, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("map_unreserved", driver.cuMemMap(range + 64 * granularity, granularity, 0, one, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("map_unaligned", driver.cuMemMap(range + 512, granularity, 0, one, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("map_beyond_handle", driver.cuMemMap(range, 2 * granularity, 0, one, 0), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("map", driver.cuMemMap(range, granularity, 0, one, 0), CUDA_SUCCESS, Source::header);
  observer.expect("map_over", driver.cuMemMap(range, granularity, 0, two, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("map_next", driver.cuMemMap(range + granularity, granularity, 0, two, 0), CUDA_SUCCESS, Source::header);
  unsigned long long flags = 99;
  CUmemLocation here = access.location;
  observer.expect("access_get", driver.cuMemGetAccess(&flags, &here, range), CUDA_SUCCESS, Source::header);
  observer.expect("access_none_at_first", flags, 0ull, Source::header);
  observer.expect("access_of_unmapped", driver.cuMemSetAccess(range + 2 * granularity, granularity, &access, 1),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("access_of_part", driver.cuMemSetAccess(range, granularity / 2, &access, 1), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("access_count_0", driver.cuMemSetAccess(range, granularity, &access, 0), CUDA_ERROR_INVALID_VALUE, Source::open);
  observer.expect("access_two_mappings", driver.cuMemSetAccess(range, 2 * granularity, &access, 1), CUDA_SUCCESS, Source::header);
  driver.cuMemGetAccess(&flags, &here, range);
  observer.expect("access_read_write", flags, 3ull, Source::header);
  std::vector<unsigned char> bytes(100);
  driver.cuMemsetD8_v2(range + granularity - 50, 0x5A, 100);
  driver.cuMemcpyDtoH_v2(bytes.data(), range + granularity - 50, 100);
  observer.expect("a_copy_crosses_handles", bytes[0] == 0x5A && bytes[49] == 0x5A && bytes[50] == 0x5A && bytes[99] == 0x5A,
                  Source::known);
  CUmemGenericAllocationHandle retained = 0;
  observer.expect("retain", driver.cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(range + 1234)), CUDA_SUCCESS,
                  Source::header);
  observer.expect("retain_same_handle", retained == one, Source::header);
  driver.cuMemRelease(retained);
  observer.expect("retain_unmapped",
                  driver.cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(range + 3 * granularity)),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  CUcontext context = reinterpret_cast<CUcontext>(1);
  driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, range);
  observer.expect("context_is_null", context == nullptr, Source::sheet);
  unsigned type = 0;
  driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range);
  observer.expect("type_device", type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), Source::header);
  observer.expect("plain_free", driver.cuMemFree_v2(range), CUDA_ERROR_INVALID_VALUE, Source::known);
  observer.expect("range_free_while_mapped", driver.cuMemAddressFree(range, 4 * granularity) != CUDA_SUCCESS, Source::open);
  observer.expect("release_while_mapped", driver.cuMemRelease(two), CUDA_SUCCESS, Source::header);
  bytes.assign(100, 0);
  driver.cuMemcpyDtoH_v2(bytes.data(), range + granularity, 50);
  observer.expect("released_but_mapped_still_there", bytes[49] == 0x5A, Source::header);
  observer.expect("unmap_part", driver.cuMemUnmap(range, granularity / 2), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("unmap_two_at_once", driver.cuMemUnmap(range, 2 * granularity), CUDA_SUCCESS, Source::sheet);
  observer.expect("unmap_twice", driver.cuMemUnmap(range, granularity), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("map_elsewhere", driver.cuMemMap(range + 3 * granularity, granularity, 0, one, 0), CUDA_SUCCESS, Source::header);
  driver.cuMemSetAccess(range + 3 * granularity, granularity, &access, 1);
  bytes.assign(100, 0);
  driver.cuMemcpyDtoH_v2(bytes.data(), range + 4 * granularity - 50, 50);
  observer.expect("contents_move_with_the_handle", bytes[0] == 0x5A && bytes[49] == 0x5A, Source::header);
  driver.cuMemUnmap(range + 3 * granularity, granularity);
  driver.cuMemRelease(one);
  driver.cuMemAddressFree(range, 4 * granularity);
}

void observe_aliases(const Driver& driver, Observer& observer, std::size_t granularity) {
  CUmemAllocationProp properties = on_device();
  const CUmemAccessDesc access = read_write();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  driver.cuMemCreate(&handle, granularity, &properties, 0);
  driver.cuMemAddressReserve(&range, 2 * granularity, 0, 0, 0);
  driver.cuMemMap(range, granularity, 0, handle, 0);
  observer.expect("map_twice", driver.cuMemMap(range + granularity, granularity, 0, handle, 0), CUDA_SUCCESS, Source::sheet);
  driver.cuMemSetAccess(range, 2 * granularity, &access, 1);
  driver.cuMemsetD8_v2(range + 7, 0x77, 1);
  driver.cuCtxSynchronize();
  unsigned char byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, range + granularity + 7, 1);
  observer.expect("aliases_share_bytes", byte == 0x77, Source::sheet);
  driver.cuMemUnmap(range, granularity);
  byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, range + granularity + 7, 1);
  observer.expect("one_alias_survives_the_other", byte == 0x77, Source::sheet);
  driver.cuMemUnmap(range + granularity, granularity);
  driver.cuMemRelease(handle);
  driver.cuMemAddressFree(range, 2 * granularity);
}

void observe_export(const Driver& driver, Observer& observer, std::size_t granularity) {
  CUmemAllocationProp plain = on_device(), exportable = on_device(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  int descriptor = -1;
  driver.cuMemCreate(&handle, granularity, &plain, 0);
  observer.expect("export_without_type",
                  driver.cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  driver.cuMemRelease(handle);
  observer.expect("create_exportable", driver.cuMemCreate(&handle, granularity, &exportable, 0), CUDA_SUCCESS, Source::header);
  observer.expect("export", driver.cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_SUCCESS, Source::header);
  observer.expect("export_gives_a_descriptor", fcntl(descriptor, F_GETFD) >= 0, Source::header);
  observer.expect("import",
                  driver.cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor)),
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                  CUDA_SUCCESS, Source::header);
  close(descriptor);
  CUdeviceptr range = 0;
  const CUmemAccessDesc access = read_write();
  driver.cuMemAddressReserve(&range, 2 * granularity, 0, 0, 0);
  driver.cuMemMap(range, granularity, 0, handle, 0);
  driver.cuMemMap(range + granularity, granularity, 0, imported, 0);
  driver.cuMemSetAccess(range, 2 * granularity, &access, 1);
  driver.cuMemsetD8_v2(range, 0x42, 1);
  driver.cuCtxSynchronize();
  unsigned char byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, range + granularity, 1);
  observer.expect("import_is_the_same_memory", byte == 0x42, Source::header);
  driver.cuMemUnmap(range, 2 * granularity);
  observer.expect("release_export", driver.cuMemRelease(handle), CUDA_SUCCESS, Source::header);
  observer.expect("release_import", driver.cuMemRelease(imported), CUDA_SUCCESS, Source::header);
  driver.cuMemAddressFree(range, 2 * granularity);
  observer.open("import_nonsense", driver.cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(std::uintptr_t{0}),
                                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

void observe_account(const Driver& driver, Observer& observer) {
  CUmemAllocationProp properties = on_device();
  std::size_t before = 0, during = 0, after = 0, total = 0;
  CUmemGenericAllocationHandle handle = 0;
  driver.cuMemGetInfo_v2(&before, &total);
  driver.cuMemCreate(&handle, 128 * kMiB, &properties, 0);
  driver.cuMemGetInfo_v2(&during, &total);
  driver.cuMemRelease(handle);
  driver.cuMemGetInfo_v2(&after, &total);
  observer.expect("create_takes_memory", before - during, std::size_t{128 * kMiB}, Source::known);
  observer.expect("release_gives_it_back", after >= during + 128 * kMiB, Source::known);
}

}  // namespace

void observe_virtual_memory(const Driver& driver, Observer& observer) {
  observer.area("virtual_memory");
  std::size_t granularity = 0, recommended = 0;
  CUmemAllocationProp properties = on_device();
  observer.expect("granularity", driver.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  CUDA_SUCCESS, Source::header);
  observer.expect("granularity_2_mib", granularity, std::size_t{2 * kMiB}, Source::sheet);
  driver.cuMemGetAllocationGranularity(&recommended, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  observer.expect("granularity_recommended", recommended, std::size_t{2 * kMiB}, Source::sheet);
  observer.expect("granularity_null", driver.cuMemGetAllocationGranularity(nullptr, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observe_create(driver, observer, granularity);
  observe_reserve(driver, observer, granularity);
  observe_map(driver, observer, granularity);
  observe_aliases(driver, observer, granularity);
  observe_export(driver, observer, granularity);
  observe_account(driver, observer);
}

}  // namespace contract
