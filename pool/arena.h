// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "pool/address_map.h"
#include "pool/backing.h"
#include "pool/deferred_free.h"
#include "pool/handle_table.h"
#include "pool/heap/heap.h"
#include "pool/identity.h"
#include "pool/lock_rank.h"
#include "pool/map_job.h"
#include "pool/request.h"
#include "pool/stats.h"
#include "pool/unit.h"

namespace cupool::pool {

/// What sizes are rounded up to, and the step in which the heap counts.
inline constexpr Bytes kGranule{512};

struct ArenaConfig {
  DeviceId device;
  UnitShape shape;
  Bytes alignment{512};  ///< of every block, at least: a power of two from kGranule up to a handle. Sizes are rounded to kGranule
  Bytes range;           ///< address space to reserve: a multiple of the handle, well above any limit (it costs next to nothing)
  Units keep{1};         ///< free handles that stay mapped beyond those that were used lately
  Engine engine = Engine::tlsf;
  bool slabs = true;
};

/// Errc::invalid_argument, with the reason, when such an arena cannot be.
Result<Done> check(const ArenaConfig& config);

/// What a free did.
struct Freed {
  Block block;
  FreeTicket ticket;  ///< of a free that was deferred; 0: the memory is free already
};

/// A block's part in one handle, for whoever maps the handle in another process.
struct HeldHandle {
  HandleId handle{};
  Address at;  ///< where the handle begins in this process
};

/// One device's pooled memory in this process: one reserved address range, handles mapped in it, and blocks carved out of them.
///
/// A request is served by, in this order: a hole; new handles inside the leased units; more units, as far as the unit source grants
/// them without waiting; free handles taken out of holes and mapped where the fewest are missing; memory whose work has to be
/// waited for; and what the unit source grants after waiting. No live block is copied or changes its address. Blocks cross the
/// borders of handles and units; positions are filled from the lowest.
///
/// Thread-safe; a block may be freed by any thread. One lock; it is held over no call of the backing, of the unit source or of
/// Completions: an operation sets aside what it will use, lets go, calls, and publishes. Others go on meanwhile.
/// A failed operation leaves the arena as it was. If the backing also refuses to undo, handles stay mapped as free memory, or loose
/// to be mapped next: none is lost.
class Arena {
 public:
  /// Reserves the range. `units`, `backing` and `completions` must outlive the arena. Without `completions` every free is
  /// immediate.
  static Result<std::unique_ptr<Arena>> create(const ArenaConfig& config, Backing& backing, UnitSource& units,
                                               Completions* completions);

  /// Makes no backing call: call close() first for an orderly end. What exists then is gone with the process or the context.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Granted<Block> take(const Request& request);

  /// Ends the block that begins at `base`. Errc::not_taken for any other address, a second free, or an interior one; changes
  /// nothing then. The block is unknown from here on, and its memory is not reused before what `after` names is done.
  Result<Freed> give_back(Address base, FreeAfter after);

  /// The live block that an address lies in.
  std::optional<Block> find(Address address) const;
  /// Whether an address lies in the reserved range, live or not. Lock-free.
  bool contains(Address address) const { return address >= base_ && address - base_ < config_.range; }

  /// Returns units to the source: releases free handles, wherever they lie, until `wanted` units are empty or no handle is free.
  /// The highest are taken first. Returns how many units went.
  Units give_back_units(Units wanted);

  /// Ends a period (a minute, say): of the free handles that were not used in it nor in the one before, beyond `keep`, half are
  /// released. A loop that uses the same memory every period makes no call. Returns how many units went.
  Units settle();

  /// Gives freed memory whose work has completed back to the heap. Makes completion queries, one per lane; never blocks.
  void poll();

  /// A peer is going to map the block: its handles are neither moved nor released until let_go() was called as often.
  Result<std::vector<HeldHandle>> hold(Address base);
  Result<Done> let_go(const HeldHandle& held);

  ArenaStats stats() const;
  /// Live bytes, as given. Cheaper than stats().
  Bytes live() const;

  /// Visits every live block under the lock: the visitor must not call back. For reports and checks.
  template <class Visit>
  void for_each_block(Visit visit) const {
    RankedLock lock(mutex_);
    records_.for_each([&](const AddressMap::Record& record) { visit(record.block); });
  }

  /// The device or context is gone: forgets blocks, deferred frees and handles without a backing call, returns all units, and
  /// refuses every later request. Waits for operations under way.
  void drop();

  /// Unmaps and releases everything, gives the range back, and ends like drop(). Errc::busy, changing nothing, while blocks are
  /// live.
  Result<Done> close();

  /// Every byte of every block is mapped, no two blocks overlap, the heap and the books agree. For tests and debug builds.
  bool is_consistent() const;

  Address base() const { return base_; }
  const ArenaConfig& config() const { return config_; }

 private:
  class Pins;
  struct Need;
  struct Plan;
  struct Attempt;

  Arena(const ArenaConfig& config, Backing& backing, UnitSource& units, Completions* completions, Address base,
        std::unique_ptr<Heap> heap);

  // arena.cpp: the parts that make no call out.
  Granted<Need> need_of(const Request& request) const;
  std::optional<Taken> take_hole(const Need& need, std::size_t tries) CUPOOL_REQUIRES(mutex_);
  Granted<Block> commit(const Need& need, const Taken& taken) CUPOOL_REQUIRES(mutex_);
  Result<DeferredFrees::Noted> return_to_heap(const Taken& taken, FreeAfter after) CUPOOL_REQUIRES(mutex_);
  tl::unexpected<Refusal> refuse(const Need& need, Errc code, Rule rule) CUPOOL_REQUIRES(mutex_);
  std::vector<std::uint64_t> tied_positions() const CUPOOL_REQUIRES(mutex_);
  std::uint64_t free_handles() const CUPOOL_REQUIRES(mutex_);
  bool is_wholly_free(std::uint64_t position) const CUPOOL_REQUIRES(mutex_);
  Run run_of(Slots slots) const {
    return Run{Granules{slots.first * granules_per_handle_}, Granules{slots.count * granules_per_handle_}};
  }

  // arena_grow.cpp: a request that no hole serves.
  Granted<Block> take_slow(const Need& need) CUPOOL_REQUIRES(mutex_);
  Granted<Block> serve(const Need& need, Attempt& attempt) CUPOOL_REQUIRES(mutex_);
  std::optional<Plan> plan(const Need& need, Attempt& attempt) CUPOOL_REQUIRES(mutex_);
  std::optional<Plan> plan_with(const Need& need, Attempt& attempt, bool moving) CUPOOL_REQUIRES(mutex_);
  Result<Placement> place_for(const Need& need, std::uint64_t supply) const CUPOOL_REQUIRES(mutex_);
  std::vector<Slots> absent_under(Run run) const CUPOOL_REQUIRES(mutex_);
  bool set_aside(Plan& plan, std::uint64_t donors, const std::vector<std::uint64_t>& tied) CUPOOL_REQUIRES(mutex_);
  bool set_targets_aside(Plan& plan) CUPOOL_REQUIRES(mutex_);
  bool set_donors_aside(Plan& plan, std::uint64_t count, const std::vector<std::uint64_t>& tied) CUPOOL_REQUIRES(mutex_);
  void put_targets_back(const Plan& plan, std::size_t grown) CUPOOL_REQUIRES(mutex_);
  std::optional<Granted<Block>> carry_out(const Need& need, const Plan& plan, Attempt& attempt) CUPOOL_REQUIRES(mutex_);
  void publish(const Plan& plan, const MapJob::Outcome& outcome) CUPOOL_REQUIRES(mutex_);
  void publish_donor(const Plan& plan, std::size_t donor, bool moved) CUPOOL_REQUIRES(mutex_);
  void lease(Units least, Units most, Attempt& attempt) CUPOOL_REQUIRES(mutex_);
  tl::unexpected<Refusal> refuse_finally(const Need& need, const Attempt& attempt) CUPOOL_REQUIRES(mutex_);
  bool wait_for_others() CUPOOL_REQUIRES(mutex_);

  // arena_return.cpp: memory on its way back.
  enum class Patience : std::uint8_t { none, poll, wait };
  enum class Which : std::uint8_t { any, cold };
  bool reclaim(Patience patience) CUPOOL_REQUIRES(mutex_);
  bool reclaim_alone(Patience patience) CUPOOL_REQUIRES(mutex_);
  void mark_batches(DeferredFrees::Which which) CUPOOL_REQUIRES(mutex_);
  bool end_batches() CUPOOL_REQUIRES(mutex_);
  void end_batch(DeferredFrees::Marked batch) CUPOOL_REQUIRES(mutex_);
  std::vector<Slots> free_slots(Which which, const std::vector<std::uint64_t>& tied) const CUPOOL_REQUIRES(mutex_);
  void release_handles(std::uint64_t count, Which which) CUPOOL_REQUIRES(mutex_);
  bool set_leaving_aside(std::uint64_t count, Which which, std::vector<MappedSlots>& leaving, std::vector<Taken>& aside)
      CUPOOL_REQUIRES(mutex_);
  void publish_absent(const Taken& aside, Slots slots) CUPOOL_REQUIRES(mutex_);
  Units give_up_surplus() CUPOOL_REQUIRES(mutex_);
  void forget_everything() CUPOOL_REQUIRES(mutex_);
  void wait_until_quiet() CUPOOL_REQUIRES(mutex_);
  void begin_call() CUPOOL_REQUIRES(mutex_) { ++calls_under_way_; }
  void end_call(CallTally tally) CUPOOL_REQUIRES(mutex_);

  const ArenaConfig config_;
  const std::uint64_t granules_per_handle_;
  const Address base_;
  Backing& backing_;
  UnitSource& units_;
  Completions* const completions_;

  mutable RankedMutex mutex_{LockRank::arena};
  std::condition_variable_any changed_;  ///< an operation that had let go of the lock has published

  std::unique_ptr<Heap> heap_ CUPOOL_GUARDED_BY(mutex_);
  AddressMap records_ CUPOOL_GUARDED_BY(mutex_);
  DeferredFrees deferred_ CUPOOL_GUARDED_BY(mutex_);
  HandleTable handles_ CUPOOL_GUARDED_BY(mutex_);
  UnitAccount account_ CUPOOL_GUARDED_BY(mutex_);
  std::vector<HandleId> loose_ CUPOOL_GUARDED_BY(mutex_);  ///< exist, mapped nowhere: the next to be mapped
  std::uint64_t calls_under_way_ CUPOOL_GUARDED_BY(mutex_) = 0;
  bool reclaiming_ CUPOOL_GUARDED_BY(mutex_) = false;  ///< one thread at a time asks about completion
  bool dropped_ CUPOOL_GUARDED_BY(mutex_) = false;
  IdentitySource identities_ CUPOOL_GUARDED_BY(mutex_);
  Bytes live_ CUPOOL_GUARDED_BY(mutex_){};
  Bytes live_asked_ CUPOOL_GUARDED_BY(mutex_){};
  Bytes peak_live_ CUPOOL_GUARDED_BY(mutex_){};
  ArenaCounters counters_ CUPOOL_GUARDED_BY(mutex_);
  SizeHistogram asked_ CUPOOL_GUARDED_BY(mutex_);
  SizeHistogram given_ CUPOOL_GUARDED_BY(mutex_);
};

}  // namespace cupool::pool
