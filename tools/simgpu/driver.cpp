// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/simgpu/driver_release.h"
#include "tools/simgpu/fault_plan.h"
#include "tools/simgpu/machine_config.h"
#include "tools/simgpu/page_table.h"

namespace cupool::simgpu {
namespace {

// A page that the kernel clears in a forked child: one load tells whether this is the process that called cuInit. A thread or vfork
// child shares the page and is still that process. Null where the kernel cannot do it (before 4.14): then a fork goes unnoticed.
std::atomic<const volatile char*> g_alive{nullptr};

const volatile char* make_alive_page() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    munmap(page, 4096);
    return nullptr;
  }
  *static_cast<char*>(page) = 1;
  return static_cast<const volatile char*>(page);
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The size of the device address range: 16 TiB, or less to provoke its exhaustion (SIMGPU_VA).
std::uint64_t device_range_bytes(std::string& message) {
  const char* text = environment("SIMGPU_VA");
  if (*text == '\0') return kDeviceRangeLimit;
  const auto size = parse_size(text);
  if (size && *size != 0) return *size;
  message = "SIMGPU_VA: \"" + std::string(text) + "\" is not a size (such as 1024GiB)";
  return 0;
}

CUresult refuse(const std::string& message) {
  std::fprintf(stderr, "simgpu: %s\n", message.c_str());
  return CUDA_ERROR_SYSTEM_NOT_READY;
}

[[gnu::destructor]] void end_of_process() {
  driver().tear_down();
}

}  // namespace

Driver& driver() {
  alignas(Driver) static std::byte storage[sizeof(Driver)];
  static Driver* const made = new (storage) Driver;
  return *made;
}

int driver_version() {
  return driver_release().cuda_version;
}

CUresult Driver::state() const {
  const Phase now = phase_.load(std::memory_order_acquire);
  if (now == Phase::torn_down) return CUDA_ERROR_DEINITIALIZED;
  if (now == Phase::fresh) return CUDA_ERROR_NOT_INITIALIZED;
  const volatile char* alive = g_alive.load(std::memory_order_relaxed);
  return alive != nullptr && *alive == 0 ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

CUresult Driver::initialise() {
  if (phase() != Phase::fresh) return state();
  const std::lock_guard lock(mutex_);
  if (phase() != Phase::fresh) return state();
  const CUresult joined = join();
  if (joined == CUDA_SUCCESS) phase_.store(Phase::ready, std::memory_order_release);
  return joined;
}

CUresult Driver::join() {
  if (!fault_plan_error().empty()) return refuse(fault_plan_error());
  std::string message;
  const std::uint64_t range = device_range_bytes(message);
  if (range == 0) return refuse(message);
  if (!connection_.is_open()) {
    const auto opened = connection_.open(machine_directory(), protocol::Role::program, environment("SIMGPU_GPUS"),
                                         environment("SIMGPU_MEMORY"), message);
    if (!opened) return refuse(message);
  }
  devices_.clear();
  for (Device& device : visible_devices(connection_.machine(), std::getenv("CUDA_VISIBLE_DEVICES"))) {
    devices_.push_back(std::move(device));
  }
  if (devices_.empty()) return CUDA_ERROR_NO_DEVICE;
  if (const auto started = page_table().start(range); !started) return refuse(started.error().detail);
  g_alive.store(make_alive_page(), std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

Device* Driver::device(CUdevice ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return nullptr;
  return &devices_[static_cast<std::size_t>(ordinal)];
}

Device* Driver::device_of_gpu(std::uint32_t gpu) {
  for (Device& device : devices_) {
    if (device.gpu == gpu) return &device;
  }
  return nullptr;
}

}  // namespace cupool::simgpu
