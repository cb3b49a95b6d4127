// SPDX-License-Identifier: Apache-2.0
//
// NVML: utilisation, clocks and sensors. Utilisation is measured (work that processes reported to the server); clocks follow the
// model; temperature and power are made up from the utilisation so that screens show something that moves.
#include <algorithm>

#include "tools/simgpu/nvml/library.h"
#include "tools/simgpu/page_table.h"

using namespace cupool::simgpu;
using namespace cupool::simgpu::nvml;

namespace {

constexpr unsigned kIdleDegrees = 31;
constexpr unsigned kBusyDegrees = 62;
constexpr unsigned kSamplePeriodUs = 166'667;  // what current drivers report
constexpr std::uint64_t kShortestSampleNs = 100'000'000;

// Highest sustained power: the data sheets, in milliwatts.
unsigned power_limit(const Device& device) {
  if (device.model->integrated) return 60'000;
  if (device.model->major >= 9) return 700'000;
  return device.model->ecc ? 400'000 : 450'000;
}

/// Work between two looks at the server's counters, one pair per GPU.
struct Sample {
  std::uint64_t busy_ns = 0;
  std::uint64_t up_ns = 0;
  unsigned percent = 0;
};

nvmlReturn_t utilisation(const Device& device, unsigned& percent) {
  static auto* const mutex = new std::mutex;
  static auto* const samples = new Sample[kMaxDevices];
  const auto usage = library().connection().usage(device.gpu);
  if (!usage) return NVML_ERROR_UNKNOWN;
  const std::lock_guard lock(*mutex);
  Sample& last = samples[device.gpu];
  const std::uint64_t passed = usage->up_ns - last.up_ns;
  if (passed >= kShortestSampleNs) {
    last.percent = static_cast<unsigned>(std::min<std::uint64_t>((usage->busy_ns - last.busy_ns) * 100 / passed, 100));
    last.busy_ns = usage->busy_ns;
    last.up_ns = usage->up_ns;
  }
  percent = last.percent;
  return NVML_SUCCESS;
}

nvmlReturn_t between(const char* name, nvmlDevice_t handle, unsigned* out, unsigned (*idle)(const Device&),
                     unsigned (*busy)(const Device&)) {
  return device_call(name, handle, out, [&](Device& device) -> nvmlReturn_t {
    unsigned percent = 0;
    if (const nvmlReturn_t code = utilisation(device, percent); code != NVML_SUCCESS) return code;
    *out = idle(device) + (busy(device) - idle(device)) * percent / 100;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t clock(const char* name, nvmlDevice_t handle, nvmlClockType_t type, unsigned* mhz) {
  return device_call(name, handle, mhz, [&](Device& device) -> nvmlReturn_t {
    if (type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
    *mhz = static_cast<unsigned>((type == NVML_CLOCK_MEM ? device.model->memory_clock_khz : device.model->clock_khz) / 1000);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t codec(const char* name, nvmlDevice_t handle, unsigned* percent, unsigned* period_us) {
  return device_call(name, handle, percent, [&](Device&) -> nvmlReturn_t {
    if (period_us == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *percent = 0;
    *period_us = kSamplePeriodUs;
    return NVML_SUCCESS;
  });
}

unsigned idle_degrees(const Device&) {
  return kIdleDegrees;
}
unsigned busy_degrees(const Device&) {
  return kBusyDegrees;
}
unsigned idle_power(const Device& device) {
  return power_limit(device) / 10;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* rates) {
  return device_call("nvmlDeviceGetUtilizationRates", handle, rates, [&](Device& device) -> nvmlReturn_t {
    unsigned percent = 0;
    if (const nvmlReturn_t code = utilisation(device, percent); code != NVML_SUCCESS) return code;
    *rates = {percent, percent / 2};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t handle, unsigned int* percent, unsigned int* period_us) {
  return codec("nvmlDeviceGetEncoderUtilization", handle, percent, period_us);
}
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t handle, unsigned int* percent, unsigned int* period_us) {
  return codec("nvmlDeviceGetDecoderUtilization", handle, percent, period_us);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, nvmlTemperatureSensors_t, unsigned int* degrees) {
  return between("nvmlDeviceGetTemperature", handle, degrees, &idle_degrees, &busy_degrees);
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_v1_t* temperature) {
  if (temperature != nullptr && temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  unsigned degrees = 0;
  const nvmlReturn_t code =
      between("nvmlDeviceGetTemperatureV", handle, temperature == nullptr ? nullptr : &degrees, &idle_degrees, &busy_degrees);
  if (code == NVML_SUCCESS) temperature->temperature = static_cast<int>(degrees);
  return code;
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t handle, unsigned int* percent) {
  return device_call("nvmlDeviceGetFanSpeed", handle, percent, [](Device&) { return NVML_ERROR_NOT_SUPPORTED; });
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned int* milliwatts) {
  return between("nvmlDeviceGetPowerUsage", handle, milliwatts, &idle_power, &power_limit);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t handle, unsigned int* milliwatts) {
  return between("nvmlDeviceGetPowerManagementLimit", handle, milliwatts, &power_limit, &power_limit);
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle, unsigned int* milliwatts) {
  return between("nvmlDeviceGetEnforcedPowerLimit", handle, milliwatts, &power_limit, &power_limit);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* mhz) {
  return clock("nvmlDeviceGetClockInfo", handle, type, mhz);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* mhz) {
  return clock("nvmlDeviceGetMaxClockInfo", handle, type, mhz);
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t handle, nvmlPstates_t* state) {
  return device_call("nvmlDeviceGetPerformanceState", handle, state, [&](Device&) {
    *state = NVML_PSTATE_0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t handle, nvmlPcieUtilCounter_t, unsigned int* kib_per_s) {
  return device_call("nvmlDeviceGetPcieThroughput", handle, kib_per_s, [&](Device&) {
    *kib_per_s = 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         unsigned long long* count) {
  return device_call("nvmlDeviceGetTotalEccErrors", handle, count, [&](Device& device) -> nvmlReturn_t {
    if (!device.model->ecc) return NVML_ERROR_NOT_SUPPORTED;
    *count = 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return device_call("nvmlDeviceGetFieldValues", handle, values, [&](Device&) {
    for (int i = 0; i < count; ++i) values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
  });
}
