// SPDX-License-Identifier: Apache-2.0
//
// NVML: memory and the processes that hold it. The server's account answers, the same that cuMemGetInfo asks.
#include "tools/simgpu/nvml/library.h"

using namespace cupool::simgpu;
using namespace cupool::simgpu::nvml;

namespace {

constexpr unsigned kNoInstance = 0xffffffff;

void set_instances(nvmlProcessInfo_v1_t&) {}
void set_instances(nvmlProcessInfo_v2_t& row) {
  row.gpuInstanceId = row.computeInstanceId = kNoInstance;
}

// Rows are counted first: too few places answer with the number that is needed.
template <class Row>
nvmlReturn_t compute_processes(const char* name, nvmlDevice_t handle, unsigned* count, Row* rows) {
  return device_call(name, handle, count, [&](Device& device) -> nvmlReturn_t {
    const auto processes = library().connection().processes(device.gpu);
    if (!processes) return NVML_ERROR_UNKNOWN;
    const auto wanted = static_cast<unsigned>(processes->size());
    const unsigned places = *count;
    *count = wanted;
    if (wanted > places) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (wanted > 0 && rows == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < wanted; ++i) {
      rows[i] = Row{};
      rows[i].pid = static_cast<unsigned>((*processes)[i].first);
      rows[i].usedGpuMemory = (*processes)[i].second;
      set_instances(rows[i]);
    }
    return NVML_SUCCESS;
  });
}

nvmlReturn_t no_processes(const char* name, nvmlDevice_t handle, unsigned* count) {
  return device_call(name, handle, count, [&](Device&) {
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return device_call("nvmlDeviceGetMemoryInfo", handle, memory, [&](Device& device) -> nvmlReturn_t {
    const auto usage = library().connection().usage(device.gpu);
    if (!usage) return NVML_ERROR_UNKNOWN;
    *memory = {usage->total + usage->reserved, usage->total - usage->used, usage->used + usage->reserved};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return device_call("nvmlDeviceGetMemoryInfo_v2", handle, memory, [&](Device& device) -> nvmlReturn_t {
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const auto usage = library().connection().usage(device.gpu);
    if (!usage) return NVML_ERROR_UNKNOWN;
    *memory = {memory->version, usage->total + usage->reserved, usage->reserved, usage->total - usage->used, usage->used};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t* memory) {
  return device_call("nvmlDeviceGetBAR1MemoryInfo", handle, memory, [&](Device& device) -> nvmlReturn_t {
    // The window is the next power of two above the memory, as on data-centre parts; nothing of it is used.
    unsigned long long total = 1;
    while (total < device.total) total *= 2;
    *memory = {total, total, 0};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* rows) {
  return compute_processes("nvmlDeviceGetComputeRunningProcesses", device, count, rows);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* rows) {
  return compute_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, count, rows);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* rows) {
  return compute_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, count, rows);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t*) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t*) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses_v2", device, count);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t*) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses_v3", device, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t*) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t*) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses_v2", device, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t*) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, count);
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t handle, nvmlProcessDetailList_v1_t* list) {
  return device_call("nvmlDeviceGetRunningProcessDetailList", handle, list, [&](Device& device) -> nvmlReturn_t {
    if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    constexpr unsigned kCompute = 0;  // the other modes, graphics and MPS, have no processes here
    const auto processes = library().connection().processes(device.gpu);
    if (!processes) return NVML_ERROR_UNKNOWN;
    const unsigned wanted = list->mode == kCompute ? static_cast<unsigned>(processes->size()) : 0;
    const unsigned places = list->numProcArrayEntries;
    list->numProcArrayEntries = wanted;
    if (wanted > places || (wanted > 0 && list->procArray == nullptr)) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < wanted; ++i) {
      list->procArray[i] = {static_cast<unsigned>((*processes)[i].first), (*processes)[i].second, kNoInstance, kNoInstance, 0};
    }
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t handle, nvmlProcessUtilizationSample_t*, unsigned int* count,
                                             unsigned long long) {
  return device_call("nvmlDeviceGetProcessUtilization", handle, count, [](Device&) { return NVML_ERROR_NOT_SUPPORTED; });
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t handle, nvmlDeviceAttributes_t* attributes) {
  return device_call("nvmlDeviceGetAttributes_v2", handle, attributes, [](Device&) { return NVML_ERROR_NOT_SUPPORTED; });
}
