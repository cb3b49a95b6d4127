// SPDX-License-Identifier: Apache-2.0
#include "shim/real_driver.h"

#include "shim/vendor_library.h"

namespace cupool::shim {
namespace {

constinit VendorLibrary driver_library{"libcuda.so.1", "libcuda.so", "cuInit"};
constinit VendorLibrary nvml_library{"libnvidia-ml.so.1", "libnvidia-ml.so", "nvmlDeviceGetMemoryInfo"};
constinit RealDriver the_driver;
constinit std::array<std::atomic<void*>, CUPOOL_SLOT_COUNT> nvml_functions{};
constinit std::atomic<bool> nvml_complete{false};

}  // namespace

RealDriver& real_driver() {
  return the_driver;
}

bool RealDriver::bind(const void* found) {
  if (complete_.load(std::memory_order_acquire)) return true;
  if (!driver_library.bind(found)) return false;
  // Threads that come here together store the same addresses.
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    functions_[i].store(driver_library.find(row(static_cast<Entry>(i)).exported), std::memory_order_relaxed);
  }
  complete_.store(true, std::memory_order_release);
  return true;
}

void RealDriver::learn(Entry entry, void* address) {
  void* none = nullptr;
  functions_[static_cast<std::size_t>(entry)].compare_exchange_strong(none, address, std::memory_order_relaxed);
}

bool RealDriver::is_other_copy(const void* address) const {
  return driver_library.is_bound() && driver_library.is_other_copy(address);
}

bool bind_nvml(const void* found) {
  if (nvml_complete.load(std::memory_order_acquire)) return true;
  if (!nvml_library.bind(found)) return false;
#define CUPOOL_BIND_pass(exported)
#define CUPOOL_BIND_hook(exported) \
  nvml_functions[CUPOOL_SLOT_##exported].store(nvml_library.find(#exported), std::memory_order_relaxed);
#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_BIND_##treatment(exported)
#include "shim/abi/nvml_points.def"
  nvml_complete.store(true, std::memory_order_release);
  return true;
}

void* real_nvml(std::uint32_t slot) {
  return nvml_functions[slot].load(std::memory_order_relaxed);
}

}  // namespace cupool::shim
