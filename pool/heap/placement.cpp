// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/placement.h"

#include <algorithm>

#include "pool/heap/fit.h"

namespace cupool::pool {
namespace {

/// Neighbouring nodes without a taken one among them.
struct Gap {
  NodeId first;
  Granules start;
  Granules end;
};

/// Searches one gap after another and keeps the best run.
///
/// While a run slides along a gap, the number of handles it misses changes only where one of its edges passes the border of a node
/// or, among absent granules, of a handle. So the best run has an edge at a border, or at the border of a handle beside one, or is
/// the aligned run next to such a place.
class Search {
 public:
  Search(const RunMap& map, const PlacementRequest& request) : map_(map), request_(request) {}

  void look_at(const Gap& gap) {
    if (gap.end - gap.start < request_.length) return;
    NodeId last = gap.first;
    for (NodeId id = gap.first; id != kNoNode && map_[id].end() <= gap.end; id = map_[id].after) {
      try_edge(gap, id, map_[id].start());
      last = id;
    }
    try_edge(gap, last, gap.end);
  }

  const std::optional<Placement>& best() const { return best_; }

 private:
  void try_edge(const Gap& gap, NodeId near, Granules border) {
    const Granules below = align_down(border, request_.handle);
    const Granules above = align_up(border, request_.handle);
    try_place(gap, near, border);
    if (below != border) try_place(gap, near, below);
    if (above != border) try_place(gap, near, above);
  }

  /// The runs that begin or end at a place, or where their alignment allows it next to it.
  void try_place(const Gap& gap, NodeId near, Granules place) {
    try_start(gap, near, place);
    if (place >= request_.length) try_start(gap, near, place - request_.length);
  }
  void try_start(const Gap& gap, NodeId near, Granules start) {
    const Granules below = align_down(start, request_.alignment);
    consider(gap, near, below);
    if (below != start) consider(gap, near, below + request_.alignment);
  }

  /// `near` is a node of the gap not far from `start`.
  void consider(const Gap& gap, NodeId near, Granules start) {
    const Run run{start, request_.length};
    if (run.start < gap.start || run.end() > gap.end) return;
    while (map_[near].start() > run.start) near = map_[near].before;
    while (map_[near].end() <= run.start) near = map_[near].after;
    Placement found{run, 0, 0};
    std::uint64_t uncounted = 0;  // the first handle that is not counted yet: two absent nodes may share one
    for (NodeId id = near; id != kNoNode && map_[id].start() < run.end(); id = map_[id].after) {
      const Node& node = map_[id];
      if (node.state() == State::free) {
        const Granules from = std::max(node.start(), align_down(run.start, request_.handle));
        const Granules to = std::min(node.end(), align_up(run.end(), request_.handle));
        found.free_handles += handles_inside(Run{from, to - from}, request_.handle);
      } else {
        const std::uint64_t first = std::max(uncounted, std::max(node.start(), run.start).count / request_.handle.count);
        const std::uint64_t end = (std::min(node.end(), run.end()).count - 1) / request_.handle.count + 1;
        if (end > first) found.missing += end - first;
        uncounted = std::max(uncounted, end);
      }
      if (best_ && found.missing > best_->missing) return;
    }
    if (found.missing + found.free_handles > request_.supply) return;
    if (best_ && found.missing == best_->missing && run.start >= best_->run.start) return;
    best_ = found;
  }

  const RunMap& map_;
  const PlacementRequest& request_;
  std::optional<Placement> best_;
};

/// The gap around an absent node, if it is the first absent one in it (otherwise another call finds the same gap).
std::optional<Gap> gap_from(const RunMap& map, NodeId absent) {
  NodeId first = absent;
  for (NodeId id = map[absent].before; id != kNoNode && map[id].state() != State::taken; id = map[id].before) {
    if (map[id].state() == State::absent) return std::nullopt;
    first = id;
  }
  NodeId last = absent;
  for (NodeId id = map[absent].after; id != kNoNode && map[id].state() != State::taken; id = map[id].after) last = id;
  return Gap{first, map[first].start(), map[last].end()};
}

}  // namespace

std::optional<Placement> find_placement(const RunMap& map, NodeId first_absent, const PlacementRequest& request) {
  Search search(map, request);
  for (NodeId id = first_absent; id != kNoNode; id = map[id].list_after) {
    if (const std::optional<Gap> gap = gap_from(map, id)) search.look_at(*gap);
  }
  return search.best();
}

}  // namespace cupool::pool
