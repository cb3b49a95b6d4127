// SPDX-License-Identifier: Apache-2.0
//
// NVML tells the same story as cuMemGetInfo: frameworks size themselves from one and check with the other. NVML is asked first, so
// that its own errors stay; it never takes part in serving an allocation.
#include <unistd.h>

#include <array>
#include <string>

#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

using shim::process;

/// The job's view of a device that NVML knows by handle; nothing where no policy governs or NVML does not say which device it is.
/// A process that has not initialised CUDA yet has used nothing: its whole limit is free.
std::optional<pool::DeviceView> view_of(nvmlDevice_t device, std::uint64_t total) {
  std::array<char, 96> uuid{};
  if (!process().is_governed() || nvml::nvmlDeviceGetUUID(device, uuid.data(), static_cast<unsigned>(uuid.size())) != NVML_SUCCESS)
    return std::nullopt;
  for (CUdevice ordinal = 0; static_cast<std::size_t>(ordinal) < shim::Process::kMaxDevices; ++ordinal) {
    const shim::Device* open = process().device_if_open(ordinal);
    if (open == nullptr || open->uuid() != uuid.data()) continue;
    if (!open->fault().empty()) return pool::DeviceView{};
    const Result<pool::DeviceView> view = process().pool().view(open->id());
    return view ? std::optional(*view) : std::nullopt;
  }
  const policy::Composed composed = process().governor().compose({uuid.data(), 0, Bytes{total}});
  if (!composed.usable()) return pool::DeviceView{};
  const Bytes limit = composed.terms.pool.unit * std::min(composed.job.rules.limit, composed.terms.pool.capacity).count;
  const Bytes shown = std::min(limit, Bytes{total});
  return pool::DeviceView{shown, shown};
}

/// Puts this process's own use, as the job sees it, into its row of a process list.
template <class Info>
void show_own_use(nvmlDevice_t device, unsigned count, Info* rows) {
  nvmlMemory_t memory{};
  if (rows == nullptr || nvml::nvmlDeviceGetMemoryInfo(device, &memory) != NVML_SUCCESS) return;
  const auto view = view_of(device, memory.total);
  for (unsigned index = 0; view && index < count; ++index) {
    if (rows[index].pid == static_cast<unsigned>(getpid())) rows[index].usedGpuMemory = (view->total - view->free).count;
  }
}

template <class Info, class Call>
nvmlReturn_t list(nvmlDevice_t device, unsigned* count, Info* rows, const Call& call) {
  const nvmlReturn_t code = call();
  if (code == NVML_SUCCESS && count != nullptr) show_own_use(device, *count, rows);
  return code;
}

}  // namespace

nvmlReturn_t hook::nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return nvml::nvmlDeviceGetUUID(device, uuid, length);
}

nvmlReturn_t hook::nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t code = nvml::nvmlDeviceGetMemoryInfo(device, memory);
  if (code != NVML_SUCCESS) return code;
  if (const auto view = view_of(device, memory->total)) {
    memory->total = view->total.count;
    memory->free = view->free.count;
    memory->used = memory->total - memory->free;
  }
  return code;
}

nvmlReturn_t hook::nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t code = nvml::nvmlDeviceGetMemoryInfo_v2(device, memory);
  if (code != NVML_SUCCESS) return code;
  if (const auto view = view_of(device, memory->total)) {
    memory->total = view->total.count;
    memory->free = view->free.count;
    memory->used = memory->total - memory->free;
    memory->reserved = 0;  // what the driver keeps for itself is not the job's
  }
  return code;
}

nvmlReturn_t hook::nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  const nvmlReturn_t code = nvml::nvmlDeviceGetAttributes_v2(device, attributes);
  if (code != NVML_SUCCESS) return code;
  if (const auto view = view_of(device, std::uint64_t{attributes->memorySizeMB} * kMiB.count))
    attributes->memorySizeMB = view->total.count / kMiB.count;
  return code;
}

nvmlReturn_t hook::nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetComputeRunningProcesses(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetComputeRunningProcesses_v2(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetComputeRunningProcesses_v3(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetGraphicsRunningProcesses(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetGraphicsRunningProcesses_v2(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetMPSComputeRunningProcesses(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                              nvmlProcessInfo_v2_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetMPSComputeRunningProcesses_v2(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* rows) {
  return list(device, count, rows, [&] { return nvml::nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count, rows); });
}
nvmlReturn_t hook::nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_v1_t* details) {
  const nvmlReturn_t code = nvml::nvmlDeviceGetRunningProcessDetailList(device, details);
  if (code == NVML_SUCCESS) show_own_use(device, details->numProcArrayEntries, details->procArray);
  return code;
}

}  // namespace cupool
