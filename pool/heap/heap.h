// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/base/result.h"
#include "pool/heap/run.h"

namespace cupool::pool {

/// The longest index space: 16 TiB of granules of 512 bytes.
inline constexpr Granules kMaxCapacity{std::uint64_t{1} << 35};

/// What a heap holds now. Everything is kept up to date as it changes except `largest_free`, which costs a look at one bin.
struct HeapStatistics {
  Granules present;       ///< free + taken
  Granules free;          ///< can be taken (not counting free slots inside slabs)
  Granules taken;         ///< blocks, and whole slabs, whether their slots are used or not
  Granules largest_free;  ///< the longest free run
  std::uint64_t free_runs = 0;
  std::uint64_t blocks = 0;        ///< what take() handed out and has not come back, slots included
  Granules block_granules;         ///< the sum of their lengths
  std::uint64_t free_handles = 0;  ///< whole, aligned handles that are free from end to end
  std::uint64_t slabs = 0;         ///< slabs taken from the engine, empty ones included
  std::uint64_t empty_slabs = 0;   ///< of those, the ones kept although no slot is used: trim() returns them
  std::uint64_t metadata_bytes = 0;
};

/// Where a request can be placed if some handles are mapped first.
struct Placement {
  Run run;                         ///< holds no taken granule
  std::uint64_t missing = 0;       ///< handles that the run touches and that are absent: to be grown before take_at()
  std::uint64_t free_handles = 0;  ///< handles that the run touches and that are wholly free: they cannot be moved elsewhere for it
};

/// Hands out runs of granules from an index space. Integers in, integers out: it never sees an address or a device.
///
/// The space is [0, capacity). A granule is absent, free or taken. It becomes free by grow(), absent again by shrink(), taken by
/// take(). Free neighbours merge at once, across the borders of handles and of whatever was grown separately.
/// A *handle* is `handle` granules, aligned to its own size: the step in which the owner maps memory. The heap only counts and
/// searches in handles, it never grows or shrinks by itself.
///
/// All metadata lies on the host. A call that fails changes nothing. Errc::invalid_argument for a length of zero, an alignment that
/// is no power of two or a run that leaves the space; Errc::no_memory when the host has no memory for metadata.
/// Not thread-safe: the owner holds its lock around every call.
class Heap {
 public:
  virtual ~Heap() = default;

  /// Takes at least `length` granules, starting at a multiple of `alignment` (a power of two, in granules).
  /// Errc::no_space when no free run can hold it; then some free run may still be found by place() plus grow().
  virtual Result<Taken> take(Granules length, Granules alignment) = 0;

  /// Takes exactly this run, all of which must be free (Errc::no_space otherwise).
  virtual Result<Taken> take_at(Run run) = 0;

  /// Gives back what take() or take_at() handed out.
  /// Errc::not_taken on a double free, on a foreign or interior position, and on a wrong length.
  virtual Result<Done> give_back(const Taken& taken) = 0;

  /// Adds an absent run to the heap, as free. Errc::exists when any part of it is present.
  virtual Result<Done> grow(Run run) = 0;

  /// Withdraws a run that is free from end to end (take free handles out of holes with it).
  /// Errc::not_found when any part of it is absent, Errc::busy when any part is taken (empty slabs do not count: they return).
  virtual Result<Done> shrink(Run run) = 0;

  /// Returns the slabs that are kept although they are empty. take() does so by itself before it refuses.
  virtual void trim() = 0;

  /// The place for a request where the fewest handles are missing; the lowest of several.
  ///
  /// Considers every run of `length` granules without a taken granule, and takes only those for which
  /// missing + free_handles <= `supply`: handles that lie free inside the run cannot be moved to it, so `supply` is all that is
  /// free now plus what can be created. Looks only around absent granules: a run that is free from
  /// end to end is for take(). Errc::no_space when there is none. Costs a walk over the absent runs: for the limit only.
  virtual Result<Placement> place(Granules length, Granules alignment, std::uint64_t supply) const = 0;

  /// What lies at a position, as long as the same state and, for taken granules, the same block goes on.
  /// Walk a range by starting the next call at run.end(). `position` must be below the capacity.
  virtual Segment segment_at(Granules position) const = 0;

  /// The first free run that ends above `position` and has at least `length` granules (whole, also if it begins below `position`);
  /// Errc::not_found when there is none. Costs a walk over the runs between.
  virtual Result<Run> next_free(Granules position, Granules length) const = 0;

  /// Appends the free runs of at least `length` granules, in no order. Skips most of the shorter ones without looking at them.
  virtual Result<Done> list_free(Granules length, std::vector<Run>& runs) const = 0;

  /// statistics().free_handles, at the cost of a load.
  virtual std::uint64_t free_handles() const = 0;

  virtual HeapStatistics statistics() const = 0;

  /// Every granule is in exactly one segment, free neighbours are merged, the indexes and all statistics agree with a recount.
  /// Costs a walk over everything: tests and debug builds.
  virtual bool is_consistent() const = 0;
};

enum class Engine { tlsf, buddy };

struct HeapConfig {
  Granules capacity;       ///< length of the index space, at most kMaxCapacity
  Granules handle{16384};  ///< a power of two; 8 MiB of granules of 512 bytes
  Engine engine = Engine::tlsf;
  bool slabs = true;  ///< serve small blocks from slabs; without, every block comes from the engine
  /// A power of two, at most 4096: 2 MiB of granules of 512 bytes. Blocks under half of it are small.
  Granules slab{4096};
  /// Slabs may cost this part of what is live: an eighth of a point of utilisation.
  std::uint64_t slack_share = 800;
  /// Slabs are opened several at a time, up to a handle, but no more than this part of what slabs occupy already.
  std::uint64_t region_share = 4;
  /// A size class gets slabs when so many blocks of it are live.
  std::uint64_t first_slab_after = 32;
};

/// Errc::invalid_argument when the configuration makes no sense.
Result<std::unique_ptr<Heap>> make_heap(const HeapConfig& config);

}  // namespace cupool::pool
