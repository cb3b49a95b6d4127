// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pool/heap/run.h"
#include "pool/request.h"

namespace cupool::pool {

/// Free granules that work of one stream may still be using.
///
/// Memory freed in a stream's order goes back to the heap at once, so that it merges with its neighbours and the stream's own next
/// request finds it as if the work had completed. What keeps everybody else away from it is the hazard noted here. A granule has
/// one hazard at most: who took and freed it later was ordered after whoever did so before. Not thread-safe. Costs: a tree
/// operation per call.
class HazardMap {
 public:
  struct Hazard {
    Run run;
    StreamId stream{};
    FreeTicket ticket;  ///< the last free in it
  };

  bool empty() const { return hazards_.empty(); }
  Granules granules() const { return granules_; }
  std::uint64_t size() const { return hazards_.size(); }

  /// Notes a run on which nothing is noted (it was a block until now); joins neighbours of the same stream. May throw
  /// std::bad_alloc, changing nothing.
  void set(Run run, StreamId stream, FreeTicket ticket);

  /// Whether a request ordered as said may not have this run yet.
  bool conflicts(Run run, std::span<const StreamOrder> orders) const;

  /// Forgets what is noted on a run (it has been taken). May throw std::bad_alloc when it cuts a hazard in two.
  void clear(Run run);

  /// Forgets the stream's hazards up to `done`: that work has completed.
  void complete(StreamId stream, FreeTicket done);

  void clear_all();

  /// Visits the hazards that a request ordered as said must keep away from.
  template <class Visit>
  void for_each_conflict(std::span<const StreamOrder> orders, Visit visit) const {
    for (const auto& [start, entry] : hazards_) {
      if (!is_ordered(entry, orders)) visit(Run{Granules{start}, entry.end - Granules{start}});
    }
  }

 private:
  struct Entry {
    Granules end;
    StreamId stream{};
    FreeTicket ticket;
  };
  using Map = std::map<std::uint64_t, Entry>;

  static bool is_ordered(const Entry& entry, std::span<const StreamOrder> orders);
  /// The first hazard that ends above `start`.
  Map::const_iterator first_over(Granules start) const;

  Map hazards_;  ///< by the start of the run
  Granules granules_{};
};

}  // namespace cupool::pool
