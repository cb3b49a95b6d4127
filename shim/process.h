// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "pool/pool.h"
#include "shim/contexts.h"
#include "shim/device.h"
#include "shim/governor.h"
#include "shim/own_memory.h"
#include "shim/refusals.h"
#include "shim/streams.h"

namespace cupool::shim {

/// Everything that governs this process: made when the session starts, never destroyed, because hooks may run until the last
/// instruction. Thread-safe.
class Process {
 public:
  static constexpr std::size_t kMaxDevices = pool::Pool::kMaxDevices;

  Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Governor& governor() const { return governor_; }
  pool::Pool& pool() { return pool_; }
  StreamRegistry& streams() { return streams_; }
  ContextTable& contexts() { return contexts_; }
  OwnMemory& own_memory() { return own_memory_; }
  Refusals& refusals() { return refusals_; }

  bool is_governed() const { return governor_.stance() == Stance::governed; }
  /// Allocations are refused because no policy can be used.
  bool is_closed() const { return governor_.stance() == Stance::closed; }

  /// The device of an ordinal, opened at the first call; null for ordinals that the driver would not give.
  Device* device(CUdevice ordinal);
  /// The same, without opening it.
  Device* device_if_open(CUdevice ordinal) const;

  /// Whether an address lies in the pool's range of some device, in a live block or not.
  bool is_pool_address(CUdeviceptr address) const;

  /// The current context and its device, made known at the first call. Number 0 when there is none, or no room for it.
  ContextFacts current_context();

  /// References to a device's primary context, as the program has taken and released them: the last release ends it.
  void primary_retained(CUdevice device) { primary_retains_[index_of(device)].fetch_add(1, std::memory_order_relaxed); }
  void primary_released(CUdevice device) { primary_retains_[index_of(device)].fetch_sub(1, std::memory_order_relaxed); }
  bool is_last_primary_retain(CUdevice device) const {
    return primary_retains_[index_of(device)].load(std::memory_order_relaxed) == 1;
  }

  /// Tells the report what the pool holds on a device: after anything that changes units or handles.
  void tell_account(Device& device);
  /// Does what is due now and then; costs one clock reading when nothing is.
  void service_if_due();

 private:
  void introduce_to_peers(Device& device);
  static std::size_t index_of(CUdevice device) { return static_cast<std::size_t>(device) % kMaxDevices; }

  Governor governor_;
  pool::Pool pool_;
  StreamRegistry streams_;
  ContextTable contexts_;
  OwnMemory own_memory_;
  Refusals refusals_;
  std::mutex opening_;  ///< one thread opens devices; driver calls are made meanwhile, hooks of others wait here for their first
  std::array<std::atomic<Device*>, kMaxDevices> devices_{};
  std::array<std::atomic<std::int64_t>, kMaxDevices> primary_retains_{};
  std::atomic<std::uint64_t> next_service_ticks_{0};
};

/// The process's own. Valid once the session has started.
Process& process();
/// Makes it. Called once, when the session starts.
void make_process();

}  // namespace cupool::shim
