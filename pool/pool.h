// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pool/arena.h"
#include "pool/beside.h"
#include "pool/identity.h"
#include "pool/request.h"
#include "pool/stats.h"
#include "pool/trace.h"

/// The facade: everything that whoever speaks CUDA needs of the pool. Read this first.
///
///   allocate / free / query      blocks of pooled memory
///   view                         what the job is told about a device
///   charge / credit, adopt       what the job uses beside the pool
///   hold / let_go                handles that another process maps
///   service                      what should happen now and then
///   reset                        a device or context is gone
namespace cupool::pool {

struct DeviceSettings {
  ArenaConfig arena;  ///< `device` is filled in by add_device()
  Bytes total;        ///< the device's memory as the driver states it
  /// The step in which the job's use is shown: drivers hand out 2 MiB at a time.
  Bytes view_step{2 * kMiB.count};
};

/// Whoever a device's pool is made of. All outlive the Pool.
struct DeviceParts {
  Backing& backing;
  UnitSource& units;
  Completions* completions = nullptr;  ///< without: every free is immediate
};

/// What an address belongs to.
struct Found {
  Block block;
  std::optional<BesideKind> beside;  ///< nothing: a block of the pool
};

struct DeviceStats {
  ArenaStats arena;
  BesideStats beside;
  DeviceView view;
  Bytes limit;  ///< of the job, in whole units
};

/// The pools of all devices of one process. Thread-safe. Has no clock and starts no thread.
class Pool {
 public:
  static constexpr std::uint32_t kMaxDevices = 64;

  Pool() = default;
  /// Makes no backing call (see Arena): what exists goes with the process.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Introduces a device. Nothing is reserved or leased before its first allocation.
  /// Errc::exists for one that is known, invalid_argument for settings that make no sense.
  Result<Done> add_device(DeviceId device, const DeviceSettings& settings, const DeviceParts& parts);

  /// A block, or why there is none. Costs no system call when a hole fits. May wait for running work and, at the limit, for what
  /// the unit source grants. The caller's output is written only from a block.
  Granted<Block> allocate(const Request& request);

  /// Ends the block of the pool that begins at `base`. Errc::not_taken for an address that is not one of ours (forward it to the
  /// driver), was freed before, or lies inside a block.
  Result<Freed> free(Address base, FreeAfter after);

  /// What a device address belongs to, exact or interior; nothing for memory that we never saw.
  std::optional<Found> query(Address address) const;

  /// Total and free memory of a device as the job sees them: total is the least of limit, pool and device; free is total less the
  /// job's own live blocks and charges. What is freed shows as free at once; what other jobs do does not show.
  Result<DeviceView> view(DeviceId device) const;

  /// Charges something beside the pool before it is obtained. At the limit, free handles are given back to make room.
  Granted<Done> charge(DeviceId device, BesideKind kind, Bytes bytes);
  /// Charges something that has happened already (a context exists). Never refused.
  Result<Done> charge_anyway(DeviceId device, BesideKind kind, Bytes bytes);
  Result<Done> credit(DeviceId device, BesideKind kind, Bytes bytes);

  /// Makes an allocation beside the pool known to query(), with an identity of its own. The charge was made before, with the same
  /// kind and `given` bytes. Errc::exists when it overlaps a known one.
  Result<Block> adopt(DeviceId device, BesideKind kind, Address base, Bytes size, Bytes given, CallSite call_site = {});
  /// Forgets it and ends its charge. Errc::not_taken when none begins there.
  Result<Block> disown(Address base);

  /// See Arena::hold and let_go.
  Result<std::vector<HeldHandle>> hold(Address base);
  Result<Done> let_go(const HeldHandle& held);

  /// Takes memory out of what is free: for a unit source that wants units back. Returns how many went.
  Units give_back(DeviceId device, Units wanted);
  /// Does what is due: returns what others want, looks after frees that have completed, and once in a period lets go of handles
  /// that were not used lately. To be called every second or so, with a clock that does not go back.
  void service(std::uint64_t now_ms);
  static constexpr std::uint64_t kPeriodMs = 60'000;

  Result<DeviceStats> stats(DeviceId device) const;
  /// Visits the live blocks of a device, under its lock.
  template <class Visit>
  void for_each_block(DeviceId device, Visit visit) const {
    if (const Arena* arena = arena_of(device)) arena->for_each_block(visit);
  }

  /// The device's context is gone with all its memory: drops the books without a backing call. The next allocation begins anew.
  /// Handles that were held and blocks that were adopted on it are forgotten too.
  Result<Done> reset(DeviceId device);

  /// Records every allocation and free from now on; null ends that. The recorder outlives its use here. `clock_us` may be null.
  using Clock = std::uint64_t (*)();
  void record(TraceRecorder* recorder, Clock clock_us);

 private:
  struct Device;
  Device* device_at(DeviceId device) const;
  Arena* arena_of(DeviceId device) const;
  Arena* arena_for(Device& device, Refusal& refusal);
  Device* owner_of(Address address) const;

  mutable RankedMutex mutex_{LockRank::pool};
  /// Set once, never taken away: a reader that sees a pointer sees what it points to.
  std::array<std::atomic<Device*>, kMaxDevices> devices_{};
  std::atomic<std::uint32_t> end_of_devices_{0};  ///< one past the highest index in use
  AddressMap adopted_ CUPOOL_GUARDED_BY(mutex_);  ///< Record::mark is the BesideKind
  IdentitySource adopted_identities_ CUPOOL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> adopted_count_{0};  ///< so that query() takes no lock where nothing was adopted
  std::atomic<TraceRecorder*> recorder_{nullptr};
  std::atomic<Clock> clock_{nullptr};
};

}  // namespace cupool::pool
