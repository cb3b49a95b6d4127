// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shim/abi/nvml_types.h"
#include "tools/simgpu/client/connection.h"
#include "tools/simgpu/device.h"

namespace cupool::simgpu::nvml {

/// The NVML library in this process: an observer of the machine, which holds nothing and is never listed. Sees all GPUs, whatever
/// CUDA_VISIBLE_DEVICES says. Thread-safe; counted like the vendor's: every init wants its shutdown.
class Library {
 public:
  nvmlReturn_t initialise();
  nvmlReturn_t shut_down();
  bool is_initialised() const { return users_.load(std::memory_order_acquire) > 0; }

  std::size_t device_count() const { return devices_.size(); }
  Device* device(std::size_t index) { return index < devices_.size() ? &devices_[index] : nullptr; }
  Connection& connection() { return connection_; }

 private:
  std::mutex mutex_;
  // Release by initialise(), acquire by is_initialised(): who sees a user sees the devices.
  std::atomic<int> users_{0};
  Connection connection_;
  std::vector<Device> devices_;
};
Library& library();

/// The device behind a handle, null for anything else.
Device* device_of(nvmlDevice_t handle);
nvmlDevice_t handle_of(Device& device);

/// The fault plan's word on a call, and its line in the log.
nvmlReturn_t admit(const char* name, bool needs_init);
nvmlReturn_t logged(const char* name, nvmlReturn_t code);

/// The frame of every function: initialised, fault plan, body, log; no exception leaves.
template <class Body>
nvmlReturn_t call(const char* name, Body&& body, bool needs_init = true) noexcept {
  nvmlReturn_t code = admit(name, needs_init);
  if (code == NVML_SUCCESS) {
    try {
      code = body();
    } catch (...) {
      code = NVML_ERROR_UNKNOWN;
    }
  }
  return logged(name, code);
}

/// The same for a function about one device: NVML_ERROR_INVALID_ARGUMENT for a bad handle or a null `out`.
template <class Body>
nvmlReturn_t device_call(const char* name, nvmlDevice_t handle, const void* out, Body&& body) noexcept {
  return call(name, [&]() -> nvmlReturn_t {
    Device* device = device_of(handle);
    return device == nullptr || out == nullptr ? NVML_ERROR_INVALID_ARGUMENT : body(*device);
  });
}

/// Copies a text with its NUL; NVML_ERROR_INSUFFICIENT_SIZE when it does not fit.
nvmlReturn_t copy_text(const std::string& text, char* out, unsigned length);

}  // namespace cupool::simgpu::nvml
