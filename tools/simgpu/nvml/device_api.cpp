// SPDX-License-Identifier: Apache-2.0
//
// NVML: what a device is.
#include <cstdio>

#include "tools/simgpu/nvml/library.h"

using namespace cupool::simgpu;
using namespace cupool::simgpu::nvml;

namespace {

template <class T>
nvmlReturn_t answer(const char* name, nvmlDevice_t handle, T* out, T value) {
  return device_call(name, handle, out, [&](Device&) {
    *out = value;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t refuse(const char* name, nvmlDevice_t handle, const void* out) {
  return device_call(name, handle, out, [](Device&) { return NVML_ERROR_NOT_SUPPORTED; });
}

nvmlReturn_t short_pci_info(const char* name, nvmlDevice_t handle, nvmlPciInfo_v2_t* info) {
  return device_call(name, handle, info, [&](Device& device) {
    *info = {};
    std::snprintf(info->busId, sizeof info->busId, "%s", device.pci_id().c_str());
    info->bus = static_cast<unsigned>(device.pci_bus());
    info->pciDeviceId = static_cast<unsigned>(device.model->pci_device_id);
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  return device_call("nvmlDeviceGetIndex", handle, index, [&](Device& device) {
    *index = device.gpu;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* minor) {
  return device_call("nvmlDeviceGetMinorNumber", handle, minor, [&](Device& device) {
    *minor = device.gpu;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  return device_call("nvmlDeviceGetName", handle, name,
                     [&](Device& device) { return copy_text(device.model->name, name, length); });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  return device_call("nvmlDeviceGetUUID", handle, uuid,
                     [&](Device& device) { return copy_text(device.uuid_text(), uuid, length); });
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t handle, char* serial, unsigned int) {
  return refuse("nvmlDeviceGetSerial", handle, serial);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_v2_t* info) {
  return short_pci_info("nvmlDeviceGetPciInfo", handle, info);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_v2_t* info) {
  return short_pci_info("nvmlDeviceGetPciInfo_v2", handle, info);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* info) {
  return device_call("nvmlDeviceGetPciInfo_v3", handle, info, [&](Device& device) {
    *info = {};
    std::snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%s", device.pci_id().c_str());
    std::snprintf(info->busId, sizeof info->busId, "0000%s", device.pci_id().c_str());
    info->bus = static_cast<unsigned>(device.pci_bus());
    info->pciDeviceId = static_cast<unsigned>(device.model->pci_device_id);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  return device_call("nvmlDeviceGetCudaComputeCapability", handle, major, [&](Device& device) -> nvmlReturn_t {
    if (minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = device.model->major;
    *minor = device.model->minor;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t* mode) {
  return answer("nvmlDeviceGetComputeMode", handle, mode, NVML_COMPUTEMODE_DEFAULT);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer("nvmlDeviceGetPersistenceMode", handle, mode, NVML_FEATURE_ENABLED);
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer("nvmlDeviceGetDisplayMode", handle, mode, NVML_FEATURE_DISABLED);
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t handle, nvmlEnableState_t* active) {
  return answer("nvmlDeviceGetDisplayActive", handle, active, NVML_FEATURE_DISABLED);
}

// Windows only.
nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t handle, unsigned int* current, unsigned int*) {
  return refuse("nvmlDeviceGetDriverModel", handle, current);
}
nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t handle, unsigned int* current, unsigned int*) {
  return refuse("nvmlDeviceGetDriverModel_v2", handle, current);
}

// No GPU here is partitioned.
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int* current, unsigned int* pending) {
  return device_call("nvmlDeviceGetMigMode", handle, current, [&](Device& device) -> nvmlReturn_t {
    if (pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const bool can_be = device.model->ecc && !device.model->integrated;  // data-centre parts
    if (!can_be) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = 0;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned int* is_mig) {
  return answer("nvmlDeviceIsMigDeviceHandle", handle, is_mig, 0U);
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int* count) {
  return answer("nvmlDeviceGetMaxMigDeviceCount", handle, count, 0U);
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned int, nvmlDevice_t* mig) {
  return refuse("nvmlDeviceGetMigDeviceHandleByIndex", handle, mig);
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t* device) {
  return refuse("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, device);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned int* id) {
  return refuse("nvmlDeviceGetGpuInstanceId", handle, id);
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned int* id) {
  return refuse("nvmlDeviceGetComputeInstanceId", handle, id);
}
