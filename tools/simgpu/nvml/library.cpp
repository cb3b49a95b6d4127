// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/nvml/library.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tools/simgpu/call_log.h"
#include "tools/simgpu/fault_plan.h"
#include "tools/simgpu/machine_config.h"

namespace cupool::simgpu::nvml {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Library& library() {
  static Library* const made = new Library;  // never destroyed: monitors ask until the very end
  return *made;
}

nvmlReturn_t Library::initialise() {
  const std::lock_guard lock(mutex_);
  if (!connection_.is_open()) {
    std::string message = fault_plan_error();
    if (!message.empty() || !connection_.open(machine_directory(), protocol::Role::observer, environment("SIMGPU_GPUS"),
                                              environment("SIMGPU_MEMORY"), message)) {
      std::fprintf(stderr, "simgpu: %s\n", message.c_str());
      return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    devices_ = visible_devices(connection_.machine(), nullptr);
  }
  users_.fetch_add(1, std::memory_order_release);
  return NVML_SUCCESS;
}

nvmlReturn_t Library::shut_down() {
  const std::lock_guard lock(mutex_);
  if (users_.load(std::memory_order_relaxed) == 0) return NVML_ERROR_UNINITIALIZED;
  users_.fetch_sub(1, std::memory_order_release);
  return NVML_SUCCESS;
}

Device* device_of(nvmlDevice_t handle) {
  for (std::size_t i = 0; i < library().device_count(); ++i) {
    if (handle_of(*library().device(i)) == handle) return library().device(i);
  }
  return nullptr;
}

nvmlDevice_t handle_of(Device& device) {
  return reinterpret_cast<nvmlDevice_t>(&device);
}

nvmlReturn_t admit(const char* name, bool needs_init) {
  if (needs_init && !library().is_initialised()) return NVML_ERROR_UNINITIALIZED;
  if (fault_plan().is_empty()) return NVML_SUCCESS;
  const Fault fault = fault_plan().on_call(name, name);
  while (fault.hang) pause();
  if (fault.delay_ns != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(fault.delay_ns));
  return static_cast<nvmlReturn_t>(fault.code);
}

nvmlReturn_t logged(const char* name, nvmlReturn_t code) {
  if (call_log_enabled()) {
    try {
      log_call(name, "", code);
    } catch (...) {
      return code;
    }
  }
  return code;
}

nvmlReturn_t copy_text(const std::string& text, char* out, unsigned length) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

}  // namespace cupool::simgpu::nvml
