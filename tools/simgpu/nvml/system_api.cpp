// SPDX-License-Identifier: Apache-2.0
//
// NVML: start and end, versions, errors, finding devices.
#include <cstdio>
#include <fstream>

#include "tools/simgpu/driver_release.h"
#include "tools/simgpu/nvml/library.h"

using namespace cupool::simgpu;
using namespace cupool::simgpu::nvml;

namespace {

struct ErrorText {
  nvmlReturn_t code;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch."},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "The provided version is invalid/unsupported"},
    {NVML_ERROR_UNKNOWN, "Unknown Error"},
};

nvmlReturn_t initialise(const char* name) {
  return call(
      name, [] { return library().initialise(); }, false);
}

nvmlReturn_t get_count(const char* name, unsigned* count) {
  return call(name, [&]() -> nvmlReturn_t {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = static_cast<unsigned>(library().device_count());
    return NVML_SUCCESS;
  });
}

nvmlReturn_t by_index(const char* name, unsigned index, nvmlDevice_t* out) {
  return call(name, [&]() -> nvmlReturn_t {
    Device* device = library().device(index);
    if (device == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = handle_of(*device);
    return NVML_SUCCESS;
  });
}

// "bus:device.function" or "domain:bus:device.function", with four or eight digits of domain.
nvmlReturn_t by_pci_id(const char* name, const char* text, nvmlDevice_t* out) {
  return call(name, [&]() -> nvmlReturn_t {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    unsigned function = 0;
    if (text == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
      domain = 0;
      if (std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2) return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (std::size_t i = 0; i < library().device_count(); ++i) {
      Device* device = library().device(i);
      if (domain != 0 || slot != 0 || function != 0 || device->pci_bus() != static_cast<int>(bus)) continue;
      *out = handle_of(*device);
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

nvmlReturn_t cuda_version(const char* name, int* version) {
  return call(
      name,
      [&]() -> nvmlReturn_t {
        if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *version = driver_release().cuda_version;
        return NVML_SUCCESS;
      },
      false);
}

}  // namespace

nvmlReturn_t nvmlInit(void) {
  return initialise("nvmlInit");
}
nvmlReturn_t nvmlInit_v2(void) {
  return initialise("nvmlInit_v2");
}
nvmlReturn_t nvmlInitWithFlags(unsigned int) {
  return initialise("nvmlInitWithFlags");
}
nvmlReturn_t nvmlShutdown(void) {
  return call(
      "nvmlShutdown", [] { return library().shut_down(); }, false);
}

const char* nvmlErrorString(nvmlReturn_t result) {
  for (const ErrorText& error : kErrors) {
    if (error.code == result) return error.text;
  }
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return call("nvmlSystemGetDriverVersion", [&] { return copy_text(driver_release().driver, version, length); });
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return call("nvmlSystemGetNVMLVersion", [&] { return copy_text(driver_release().nvml, version, length); });
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return cuda_version("nvmlSystemGetCudaDriverVersion", version);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return cuda_version("nvmlSystemGetCudaDriverVersion_v2", version);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  return call("nvmlSystemGetProcessName", [&]() -> nvmlReturn_t {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    std::string command;
    if (!std::getline(file, command, '\0')) return NVML_ERROR_NOT_FOUND;
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::snprintf(name, length, "%s", command.c_str());
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
  return get_count("nvmlDeviceGetCount", count);
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  return get_count("nvmlDeviceGetCount_v2", count);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return by_index("nvmlDeviceGetHandleByIndex", index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  return by_index("nvmlDeviceGetHandleByIndex_v2", index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return by_pci_id("nvmlDeviceGetHandleByPciBusId", bus_id, device);
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return by_pci_id("nvmlDeviceGetHandleByPciBusId_v2", bus_id, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* out) {
  return call("nvmlDeviceGetHandleByUUID", [&]() -> nvmlReturn_t {
    if (uuid == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (std::size_t i = 0; i < library().device_count(); ++i) {
      if (library().device(i)->uuid_text() != uuid) continue;
      *out = handle_of(*library().device(i));
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}
