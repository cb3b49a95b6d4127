// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "pool/heap/fit.h"
#include "pool/heap/heap.h"
#include "pool/heap/placement.h"
#include "pool/heap/run_map.h"

namespace cupool::pool {

/// Where an index would place a request: at `start`, inside the free node `node` and, for some, the free nodes right behind it.
struct Spot {
  NodeId node = kNoNode;
  Granules start;
};

/// A heap without slabs: a RunMap, and an `Index` that knows its free nodes and thereby is the engine.
///
///   Index(RunMap&, Granules handle)
///   void put(NodeId)                          takes in a free node; merges it with the neighbours that may merge
///   void withdraw(NodeId)                     forgets a free node
///   Spot choose(Granules length, Granules alignment)   kNoNode when nothing fits
///   static constexpr unsigned kSplitsOfPut    the most splits that one put() makes
///   void list(Granules length, std::vector<Run>&) const   appends free runs of at least `length`
///   Granules longest() const; std::uint64_t runs() const, free_handles() const; bool is_consistent() const
template <class Index>
class RunHeap final : public Heap {
 public:
  /// May throw std::bad_alloc.
  explicit RunHeap(const HeapConfig& config)
      : handle_(config.handle), map_(config.capacity, page_of(config)), index_(map_, config.handle) {
    enlist_absent(map_.first());
  }
  RunHeap(const RunHeap&) = delete;
  RunHeap& operator=(const RunHeap&) = delete;

  Result<Taken> take(Granules length, Granules alignment) override {
    if (!is_request(length, alignment)) return fail(Errc::invalid_argument, "the length is zero or the alignment no power of two");
    if (length > free_ || alignment > map_.capacity()) return fail(Errc::no_space);
    const Spot spot = index_.choose(length, alignment);
    if (spot.node == kNoNode) return fail(Errc::no_space);
    return claim(spot.node, Run{spot.start, length});
  }

  Result<Taken> take_at(Run run) override {
    if (!is_inside(run)) return fail(Errc::invalid_argument, "the run leaves the index space");
    if (!is_all(run, State::free)) return fail(Errc::no_space);
    return claim(map_.find(run.start), run);
  }

  Result<Done> give_back(const Taken& taken) override {
    if (!map_.is_node(taken.mark)) return fail(Errc::not_taken);
    const Node& node = map_[taken.mark];
    if (node.state() != State::taken || node.run() != taken.run) return fail(Errc::not_taken);
    if constexpr (Index::kSplitsOfPut != 0) {
      if (!map_.reserve(Index::kSplitsOfPut, taken.run.end())) return fail(Errc::no_memory);
    }
    free_ += taken.run.length;
    taken_ -= taken.run.length;
    --blocks_;
    map_.set_state(taken.mark, State::free);
    index_.put(taken.mark);
    return Done{};
  }

  Result<Done> grow(Run run) override {
    if (!is_inside(run)) return fail(Errc::invalid_argument, "the run leaves the index space");
    NodeId id = map_.find(run.start);
    if (map_[id].state() != State::absent || map_[id].end() < run.end()) return fail(Errc::exists);
    if (!map_.reserve(kSplitsAround + Index::kSplitsOfPut, end_of_splits(run))) return fail(Errc::no_memory);
    delist_absent(id);
    if (map_[id].start() < run.start) {
      const NodeId right = map_.split(id, run.start - map_[id].start());
      enlist_absent(id);
      id = right;
    }
    if (map_[id].end() > run.end()) enlist_absent(map_.split(id, run.length));
    free_ += run.length;
    map_.set_state(id, State::free);
    index_.put(id);
    return Done{};
  }

  Result<Done> shrink(Run run) override {
    if (!is_inside(run)) return fail(Errc::invalid_argument, "the run leaves the index space");
    if (has_any(run, State::absent)) return fail(Errc::not_found);
    if (!is_all(run, State::free)) return fail(Errc::busy);
    if (!map_.reserve(kSplitsOfClaim, end_of_splits(run))) return fail(Errc::no_memory);
    const NodeId id = take_out(map_.find(run.start), run, State::absent);
    free_ -= run.length;
    const NodeId after = map_[id].after;
    if (after != kNoNode && map_[after].state() == State::absent) {
      delist_absent(after);
      map_.swallow_after(id);
    }
    const NodeId before = map_[id].before;
    if (before != kNoNode && map_[before].state() == State::absent) {
      map_.swallow_after(before);
    } else {
      enlist_absent(id);
    }
    return Done{};
  }

  void trim() override {}

  Result<Placement> place(Granules length, Granules alignment, std::uint64_t supply) const override {
    if (!is_request(length, alignment)) return fail(Errc::invalid_argument, "the length is zero or the alignment no power of two");
    if (length > map_.capacity() || alignment > map_.capacity()) return fail(Errc::no_space);
    const std::optional<Placement> found =
        find_placement(map_, first_absent_, PlacementRequest{length, alignment, handle_, supply});
    if (!found) return fail(Errc::no_space);
    return *found;
  }

  Segment segment_at(Granules position) const override {
    const Node& node = map_[map_.find(position)];
    return Segment{node.run(), node.state()};
  }

  Result<Run> next_free(Granules position, Granules length) const override {
    if (position >= map_.capacity()) return fail(Errc::not_found);
    for (NodeId id = map_.find(position); id != kNoNode; id = map_[id].after) {
      if (map_[id].state() == State::free && map_[id].length() >= length) return map_[id].run();
    }
    return fail(Errc::not_found);
  }

  Result<Done> list_free(Granules length, std::vector<Run>& runs) const override {
    try {
      index_.list(length, runs);
    } catch (const std::bad_alloc&) {
      return fail(Errc::no_memory);
    }
    return Done{};
  }

  std::uint64_t free_handles() const override { return index_.free_handles(); }

  HeapStatistics statistics() const override {
    HeapStatistics now;
    now.present = free_ + taken_;
    now.free = free_;
    now.taken = taken_;
    now.largest_free = index_.longest();
    now.free_runs = index_.runs();
    now.blocks = blocks_;
    now.block_granules = taken_;
    now.free_handles = index_.free_handles();
    now.metadata_bytes = map_.metadata_bytes() + sizeof(*this);
    return now;
  }

  bool is_consistent() const override;

 private:
  static constexpr unsigned kSplitsAround = 2;  // of one node, to get its middle
  static constexpr unsigned kSplitsOfClaim = kSplitsAround + 2 * Index::kSplitsOfPut;

  /// A handle or 2 MiB (of granules of 512 bytes), whichever is shorter; never so short that there are over 2^23 pages.
  static Granules page_of(const HeapConfig& config) {
    const Granules least{std::max<std::uint64_t>(16, std::bit_ceil(config.capacity.count) >> 23)};
    return std::max(least, std::min(config.handle, Granules{4096}));
  }

  static bool is_request(Granules length, Granules alignment) {
    return length.count != 0 && alignment.count != 0 && (alignment.count & (alignment.count - 1)) == 0;
  }
  bool is_inside(Run run) const {
    return run.length.count != 0 && run.length <= map_.capacity() && run.start <= map_.capacity() - run.length;
  }
  /// Splitting around a run may create a node that begins at its end.
  Granules end_of_splits(Run run) const { return run.end() < map_.capacity() ? run.end() + Granules{1} : run.end(); }

  bool is_all(Run run, State state) const {
    for (NodeId id = map_.find(run.start); id != kNoNode && map_[id].start() < run.end(); id = map_[id].after) {
      if (map_[id].state() != state) return false;
    }
    return true;
  }
  bool has_any(Run run, State state) const {
    for (NodeId id = map_.find(run.start); id != kNoNode && map_[id].start() < run.end(); id = map_[id].after) {
      if (map_[id].state() == state) return true;
    }
    return false;
  }

  Result<Taken> claim(NodeId id, Run run) {
    if (!map_.reserve(kSplitsOfClaim, end_of_splits(run))) return fail(Errc::no_memory);
    const NodeId node = take_out(id, run, State::taken);
    free_ -= run.length;
    taken_ += run.length;
    ++blocks_;
    return Taken{run, node};
  }

  /// Makes one node of a run that is free from end to end and begins in `id`, withdraws it from the index and gives it a new state.
  NodeId take_out(NodeId id, Run run, State state) {
    index_.withdraw(id);
    if (map_[id].start() < run.start) {
      const NodeId right = map_.split(id, run.start - map_[id].start());
      map_.set_state(right, state);  // before put(), which would merge it back
      index_.put(id);
      id = right;
    } else {
      map_.set_state(id, state);
    }
    while (map_[id].end() < run.end()) {
      index_.withdraw(map_[id].after);
      map_.swallow_after(id);
    }
    if (map_[id].end() > run.end()) {
      const NodeId rest = map_.split(id, run.length);
      map_.set_state(rest, State::free);
      index_.put(rest);
    }
    return id;
  }

  void enlist_absent(NodeId id) {
    map_[id].list_before = kNoNode;
    map_[id].list_after = first_absent_;
    if (first_absent_ != kNoNode) map_[first_absent_].list_before = id;
    first_absent_ = id;
  }
  void delist_absent(NodeId id) {
    const Node& node = map_[id];
    if (node.list_after != kNoNode) map_[node.list_after].list_before = node.list_before;
    (node.list_before != kNoNode ? map_[node.list_before].list_after : first_absent_) = node.list_after;
  }

  Granules handle_;
  RunMap map_;
  Index index_;
  NodeId first_absent_ = kNoNode;
  Granules free_;
  Granules taken_;
  std::uint64_t blocks_ = 0;
};

template <class Index>
bool RunHeap<Index>::is_consistent() const {
  if (!map_.is_consistent() || !index_.is_consistent()) return false;
  Granules free, taken;
  std::uint64_t blocks = 0, absent = 0, listed = 0;
  State before = State::taken;
  for (NodeId id = map_.first(); id != kNoNode; id = map_[id].after) {
    const Node& node = map_[id];
    switch (node.state()) {
      case State::free:
        free += node.length();
        break;
      case State::taken:
        taken += node.length(), ++blocks;
        break;
      case State::absent:
        if (before == State::absent) return false;
        ++absent;
        break;
    }
    before = node.state();
  }
  for (NodeId id = first_absent_; id != kNoNode; id = map_[id].list_after) {
    if (map_[id].state() != State::absent) return false;
    ++listed;
  }
  return free == free_ && taken == taken_ && blocks == blocks_ && absent == listed;
}

}  // namespace cupool::pool
