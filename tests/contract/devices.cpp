// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "tests/contract/areas.h"

namespace contract {
namespace {

constexpr CUdevice kNoSuchDevice = 4711;

void observe_attributes(const Driver& driver, Observer& observer) {
  const auto attribute = [&](CUdevice_attribute which) {
    int value = -1;
    driver.cuDeviceGetAttribute(&value, which, 0);
    return value;
  };
  int value = -77;
  observer.expect("attribute_null", driver.cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("attribute_unknown", driver.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("attribute_unknown_leaves_output", value, -77, Source::known);
  observer.expect("attribute_bad_device", driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, kNoSuchDevice),
                  CUDA_ERROR_INVALID_DEVICE, Source::header);
  observer.expect("warp_size", attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32, Source::known);
  observer.expect("max_threads_per_block", attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024, Source::known);
  observer.expect("max_block_x", attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), 1024, Source::known);
  observer.expect("max_block_z", attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z), 64, Source::known);
  observer.expect("max_grid_x", attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), 2147483647, Source::known);
  observer.expect("max_grid_y", attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y), 65535, Source::known);
  observer.expect("texture_alignment", attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT), 512, Source::sheet);
  observer.expect("unified_addressing", attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1, Source::known);
  observer.expect("managed_memory", attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1, Source::known);
  observer.expect("virtual_memory", attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1, Source::known);
  observer.expect("memory_pools", attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 1, Source::known);
  observer.expect("posix_descriptors", attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 1,
                  Source::known);
  observer.expect("can_map_host_memory", attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY), 1, Source::known);
  observer.expect("stream_priorities", attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED), 1, Source::known);
  observer.expect("compute_mode_default", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE), 0, Source::known);
  int major = 0, minor = 0;
  observer.expect("compute_capability", driver.cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS, Source::header);
  observer.expect("capability_is_attribute_75_76",
                  major == attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
                      minor == attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                  Source::known);
  observer.expect("has_multiprocessors", attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) > 0, Source::known);
  observer.expect("has_l2_cache", attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) > 0, Source::known);
}

void observe_names(const Driver& driver, Observer& observer) {
  std::array<char, 256> name{};
  observer.expect("name", driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), 0), CUDA_SUCCESS, Source::header);
  observer.expect("name_is_text", std::strlen(name.data()) > 0, Source::header);
  observer.expect("name_null", driver.cuDeviceGetName(nullptr, 10, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("name_bad_device", driver.cuDeviceGetName(name.data(), 10, kNoSuchDevice), CUDA_ERROR_INVALID_DEVICE,
                  Source::header);
  std::array<char, 4> shorter{'x', 'x', 'x', 'x'};
  observer.open("name_short", driver.cuDeviceGetName(shorter.data(), 4, 0));
  CUuuid first{}, second{};
  observer.expect("uuid", driver.cuDeviceGetUuid_v2(&first, 0), CUDA_SUCCESS, Source::header);
  driver.cuDeviceGetUuid_v2(&second, 0);
  observer.expect("uuid_is_stable", std::memcmp(&first, &second, sizeof first) == 0, Source::header);
  observer.expect("uuid_null", driver.cuDeviceGetUuid_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("uuid_bad_device", driver.cuDeviceGetUuid_v2(&first, kNoSuchDevice), CUDA_ERROR_INVALID_DEVICE, Source::header);
  std::array<char, 32> bus{};
  observer.expect("pci", driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), 0), CUDA_SUCCESS, Source::header);
  observer.expect("pci_null", driver.cuDeviceGetPCIBusId(nullptr, 13, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUdevice back = -1;
  observer.expect("pci_back", driver.cuDeviceGetByPCIBusId(&back, bus.data()), CUDA_SUCCESS, Source::header);
  observer.expect("pci_back_same", back, 0, Source::header);
  observer.expect("pci_back_null", driver.cuDeviceGetByPCIBusId(nullptr, bus.data()), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.open("pci_back_nonsense", driver.cuDeviceGetByPCIBusId(&back, "nonsense"));
  observer.open("pci_back_absent", driver.cuDeviceGetByPCIBusId(&back, "0000:ff:1f.0"));
}

void observe_errors(const Driver& driver, Observer& observer) {
  const char* text = nullptr;
  observer.expect("error_name", driver.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS, Source::header);
  observer.expect("error_name_2", text == nullptr ? "" : text, "CUDA_ERROR_OUT_OF_MEMORY", Source::header);
  driver.cuGetErrorName(CUDA_SUCCESS, &text);
  observer.expect("error_name_0", text == nullptr ? "" : text, "CUDA_SUCCESS", Source::header);
  driver.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text);
  observer.expect("error_name_700", text == nullptr ? "" : text, "CUDA_ERROR_ILLEGAL_ADDRESS", Source::header);
  observer.expect("error_string", driver.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS, Source::header);
  observer.expect("error_string_2", text == nullptr ? "" : text, "out of memory", Source::known);
  observer.expect("error_name_unknown", driver.cuGetErrorName(static_cast<CUresult>(99999), &text), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("error_name_unknown_is_null", text == nullptr, Source::header);
  observer.expect("error_string_unknown", driver.cuGetErrorString(static_cast<CUresult>(99999), &text), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
}

void observe_lookup(const Driver& driver, Observer& observer) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const auto look = [&](const char* name, int version, cuuint64_t flags) {
    found = &found;
    status = static_cast<CUdriverProcAddressQueryResult>(99);
    return driver.cuGetProcAddress_v2(name, &found, version, flags, &status);
  };
  observer.expect("lookup_known", look("cuMemAlloc", 3020, 0), CUDA_SUCCESS, Source::header);
  observer.expect("lookup_known_found", found != nullptr, Source::header);
  observer.expect("lookup_known_status", static_cast<int>(status), 0, Source::header);
  void* newest = found;
  look("cuMemAlloc", 13000, 0);
  observer.expect("lookup_newest_not_newer_than_asked", found == newest, Source::header);
  look("cuMemAlloc", 2000, 0);
  observer.expect("lookup_old_version_is_another_function", found != nullptr && found != newest, Source::header);
  observer.expect("lookup_unknown", look("cuNoSuchFunction", 13000, 0), CUDA_SUCCESS, Source::header);
  observer.expect("lookup_unknown_is_null", found == nullptr, Source::header);
  observer.expect("lookup_unknown_status", static_cast<int>(status), 1, Source::header);
  observer.expect("lookup_too_old", look("cuMemCreate", 9000, 0), CUDA_SUCCESS, Source::header);
  observer.expect("lookup_too_old_is_null", found == nullptr, Source::header);
  observer.expect("lookup_too_old_status", static_cast<int>(status), 2, Source::header);
  observer.expect("lookup_beyond_driver", look("cuMemAlloc", 99000, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("lookup_no_output", driver.cuGetProcAddress_v2("cuMemAlloc", nullptr, 3020, 0, nullptr), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("lookup_no_name", driver.cuGetProcAddress_v2(nullptr, &found, 3020, 0, nullptr), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("lookup_without_status", driver.cuGetProcAddress_v2("cuMemFree", &found, 3020, 0, nullptr), CUDA_SUCCESS,
                  Source::header);
  look("cuMemcpyHtoDAsync", 7000, 2);
  void* per_thread = found;
  look("cuMemcpyHtoDAsync", 7000, 0);
  observer.expect("lookup_per_thread_is_another_function", per_thread != nullptr && per_thread != found, Source::header);
  look("cuMemAlloc", 3020, 2);
  observer.expect("lookup_per_thread_falls_back", found == newest, Source::header);
  look("cuGetProcAddress", 12000, 0);
  observer.expect("lookup_of_lookup", found != nullptr, Source::sheet);
  look("cuGetProcAddress", 11030, 0);
  observer.expect("lookup_of_old_lookup", found != nullptr, Source::sheet);
  observer.open("lookup_bad_flags", look("cuMemAlloc", 3020, 1 << 20));
  observer.open("lookup_suffixed", look("cuMemAlloc_v2", 13000, 0));
  look("cuCtxCreate", 3020, 0);
  void* create_v2 = found;
  look("cuCtxCreate", 12050, 0);
  observer.expect("lookup_versions_of_context_creation_differ", found != create_v2 && found != nullptr && create_v2 != nullptr,
                  Source::header);
}

}  // namespace

void observe_before_initialisation(const Driver& driver, Observer& observer) {
  observer.area("before_init");
  int number = 0;
  CUcontext context = nullptr;
  CUdeviceptr pointer = 0;
  observer.expect("version", driver.cuDriverGetVersion(&number), CUDA_SUCCESS, Source::known);
  observer.expect("version_is_13", number / 1000 >= 13, Source::known);
  observer.expect("version_null", driver.cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("count", driver.cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("device", driver.cuDeviceGet(&number, 0), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("current", driver.cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("alloc", driver.cuMemAlloc_v2(&pointer, 512), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("free", driver.cuMemFree_v2(4096), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("retain", driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED, Source::header);
  observer.expect("init_flags", driver.cuInit(1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("still_not", driver.cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED, Source::known);
  const char* text = nullptr;
  observer.expect("error_name", driver.cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &text), CUDA_SUCCESS, Source::known);
  observer.expect("init", driver.cuInit(0), CUDA_SUCCESS, Source::header);
  observer.expect("init_again", driver.cuInit(0), CUDA_SUCCESS, Source::known);
}

void observe_devices_and_lookup(const Driver& driver, Observer& observer) {
  observer.area("device");
  int count = 0;
  CUdevice device = -1;
  std::size_t total = 0;
  observer.expect("count", driver.cuDeviceGetCount(&count), CUDA_SUCCESS, Source::header);
  observer.expect("count_positive", count > 0, Source::known);
  observer.expect("count_null", driver.cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("get", driver.cuDeviceGet(&device, 0), CUDA_SUCCESS, Source::header);
  observer.expect("get_null", driver.cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("get_negative", driver.cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE, Source::header);
  observer.expect("get_beyond", driver.cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE, Source::header);
  observer.expect("total", driver.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS, Source::header);
  observer.expect("total_positive", total > 0, Source::header);
  observer.expect("total_null", driver.cuDeviceTotalMem_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("total_bad_device", driver.cuDeviceTotalMem_v2(&total, kNoSuchDevice), CUDA_ERROR_INVALID_DEVICE, Source::header);
  int can = -1;
  observer.open("peer_of_itself", driver.cuDeviceCanAccessPeer(&can, 0, 0));
  observer.expect("peer_bad_device", driver.cuDeviceCanAccessPeer(&can, 0, kNoSuchDevice), CUDA_ERROR_INVALID_DEVICE,
                  Source::header);
  observe_attributes(driver, observer);
  observe_names(driver, observer);
  observe_errors(driver, observer);
  observe_lookup(driver, observer);
}

}  // namespace contract
