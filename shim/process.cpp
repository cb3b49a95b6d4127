// SPDX-License-Identifier: Apache-2.0
#include "shim/process.h"

#include <new>

#include "shim/boundary.h"
#include "shim/real_driver.h"
#include "shim/session.h"

namespace cupool::shim {
namespace {

/// Where the process object lives: no destructor ever runs on it.
alignas(Process) constinit unsigned char g_storage[sizeof(Process)]{};
constinit std::atomic<Process*> g_process{nullptr};

/// About a second on every processor of the last twenty years: service() itself looks at the real clock.
constexpr std::uint64_t kServiceTicks = 2'000'000'000;

std::uint32_t permille(double share) {
  return static_cast<std::uint32_t>(share * 1000.0 + 0.5);
}

}  // namespace

Process& process() {
  return *g_process.load(std::memory_order_acquire);
}

void make_process() {
  g_process.store(new (g_storage) Process, std::memory_order_release);
}

Process::Process() = default;

Device* Process::device_if_open(CUdevice ordinal) const {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= kMaxDevices) return nullptr;
  return devices_[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire);
}

Device* Process::device(CUdevice ordinal) {
  if (Device* open = device_if_open(ordinal)) return open;
  int count = 0;
  if (ordinal < 0 || driver::cuDeviceGetCount(&count) != CUDA_SUCCESS || ordinal >= count ||
      static_cast<std::size_t>(ordinal) >= kMaxDevices) {
    return nullptr;
  }
  const std::lock_guard lock(opening_);
  if (Device* open = device_if_open(ordinal)) return open;
  Device* device = Device::open(ordinal, governor_, streams_, pool_).release();
  introduce_to_peers(*device);
  devices_[static_cast<std::size_t>(ordinal)].store(device, std::memory_order_release);
  return device;
}

void Process::introduce_to_peers(Device& device) {
  // Copies between devices work on cuMemAlloc memory whether peer access was switched on or not; on virtual memory they need access
  // rights. So every device that can reach the pool's memory of another may, as soon as this process uses both.
  const auto can_reach = [](const Device& from, const Device& to) {
    int can = 0;
    return driver::cuDeviceCanAccessPeer(&can, from.ordinal(), to.ordinal()) == CUDA_SUCCESS && can != 0;
  };
  for (std::size_t index = 0; index < kMaxDevices; ++index) {
    Device* other = device_if_open(static_cast<CUdevice>(index));
    if (other == nullptr) continue;
    if (can_reach(device, *other)) other->backing().add_peer(device.ordinal());
    if (can_reach(*other, device)) device.backing().add_peer(other->ordinal());
  }
}

bool Process::is_pool_address(CUdeviceptr address) const {
  for (std::size_t ordinal = 0; ordinal < kMaxDevices; ++ordinal) {
    Device* open = device_if_open(static_cast<CUdevice>(ordinal));
    if (open != nullptr && open->backing().is_inside(pool::Address{address})) return true;
  }
  return false;
}

ContextFacts Process::current_context() {
  CUcontext current = nullptr;
  if (driver::cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return {};
  const ContextFacts known = contexts_.find(current);
  if (known.number != 0) return known;
  CUdevice ordinal = -1;
  if (driver::cuCtxGetDevice(&ordinal) != CUDA_SUCCESS) return {};
  streams_.note_context(current);
  return contexts_.add(current, ordinal);
}

void Process::tell_account(Device& device) {
  const Result<pool::DeviceStats> stats = pool_.stats(device.id());
  if (!stats) return;
  report::DeviceAccount account;
  account.leased = stats->arena.leased + device.policy().terms.pool.unit * stats->beside.leased.count;
  account.mapped = stats->arena.mapped;
  account.charged = stats->beside.total;
  account.overhead = stats->beside.kinds[static_cast<std::size_t>(pool::BesideKind::context)].now +
                     stats->beside.kinds[static_cast<std::size_t>(pool::BesideKind::module)].now;
  account.fragmentation_permille = permille(stats->arena.fragmentation());
  account.free_handles_permille = permille(stats->arena.free_handle_share());
  recorder().account(device.id().index, account);
}

void Process::service_if_due() {
  const std::uint64_t now = report::ticks();
  std::uint64_t due = next_service_ticks_.load(std::memory_order_relaxed);
  if (now < due || !next_service_ticks_.compare_exchange_strong(due, now + kServiceTicks, std::memory_order_relaxed)) return;
  pool_.service(report::monotonic_ns() / 1'000'000);
  for (std::size_t ordinal = 0; ordinal < kMaxDevices; ++ordinal) {
    if (Device* open = device_if_open(static_cast<CUdevice>(ordinal))) tell_account(*open);
  }
}

}  // namespace cupool::shim
