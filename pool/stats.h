// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "policy/base/units.h"

namespace cupool::pool {

/// How many, and how large, by powers of two: bucket b counts sizes in [2^(b-1), 2^b), bucket 0 counts zero.
struct SizeHistogram {
  std::array<std::uint64_t, 65> count{};

  void add(Bytes size) { ++count[static_cast<std::size_t>(std::bit_width(size.count))]; }
};

/// Counters that only rise, since the arena was made or reset.
struct ArenaCounters {
  std::uint64_t takes = 0;            ///< blocks handed out
  std::uint64_t gives = 0;            ///< blocks given back by the program, deferred or not
  std::uint64_t refusals = 0;         ///< requests that ended without a block
  std::uint64_t deferred_gives = 0;   ///< of `gives`, those that had to wait for work
  std::uint64_t reused_in_order = 0;  ///< of `takes`, those served from memory freed earlier in stream order
  std::uint64_t work_waits = 0;       ///< times that a request waited for running work
  std::uint64_t grows = 0;            ///< requests that needed handles mapped
  std::uint64_t moving_grows = 0;     ///< of `grows`, those that moved handles
  std::uint64_t handles_created = 0;
  std::uint64_t handles_moved = 0;
  std::uint64_t handles_released = 0;
  std::uint64_t backing_calls = 0;   ///< create, map, unmap and release calls, those that failed too
  std::uint64_t backing_faults = 0;  ///< of them, those that failed
};

/// One arena at one moment: every figure was read under the same lock.
///
/// How they add up, at every moment: live + deferred + in_transit + free = mapped. waste() lies inside `live`. A free slot of a
/// slab that is partly used counts as free although no handle of it is.
struct ArenaStats {
  Bytes live;        ///< blocks of the program, as given (rounded up)
  Bytes live_asked;  ///< the same blocks, as asked for
  Bytes deferred;    ///< freed by the program, but work submitted before may still use it
  Bytes free;        ///< mapped, and nobody's
  Bytes in_transit;  ///< set aside by operations under way: being mapped, moved or released
  Bytes mapped;      ///< handles in the range, and those that are being mapped there
  Bytes created;     ///< handles that exist: mapped, or between two places
  Bytes leased;      ///< units
  Bytes largest_free;
  Bytes held_by_peers;  ///< handles that another process maps or has imported
  Bytes peak_live;      ///< the highest `live` since the arena was made or reset

  std::uint64_t live_blocks = 0;
  std::uint64_t deferred_blocks = 0;
  std::uint64_t free_runs = 0;
  std::uint64_t mapped_handles = 0;
  std::uint64_t free_handles = 0;  ///< wholly free and not held by a peer
  Units leased_units{};
  Units empty_units{};  ///< units that could be returned now: a unit's worth of free handles, wherever they lie
  Bytes address_span;   ///< from the range's begin to the end of the highest handle
  Bytes metadata;       ///< host memory of the arena's records

  ArenaCounters counters;
  SizeHistogram asked;  ///< of all takes
  SizeHistogram given;

  /// Rounding up: to the alignment and to slab classes.
  Bytes waste() const { return live - live_asked; }
  /// 1 - largest free run / free bytes: how far the free memory is from being one piece. 0 when nothing is free.
  double fragmentation() const {
    return free.count == 0 ? 0 : 1 - static_cast<double>(largest_free.count) / static_cast<double>(free.count);
  }
  /// Share of the mapped handles that are free: what could go back now. `defrag.above` means this figure.
  double free_handle_share() const {
    return mapped_handles == 0 ? 0 : static_cast<double>(free_handles) / static_cast<double>(mapped_handles);
  }
};

/// A device as the job is to see it.
struct DeviceView {
  Bytes total;
  Bytes free;
};

}  // namespace cupool::pool
