// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "pool/heap/run_heap.h"

namespace cupool::pool {

/// The free nodes of the second engine: each is a power of two long and starts at a multiple of its length; only buddies merge.
///
/// With tail return: a request takes what it asked for, not the next power of two; what is left of the block is free at once in
/// smaller blocks (20 MiB takes 16 + 4). A request also fits a block of the power of two below it when the blocks right behind are
/// free far enough. After Knowlton, "A fast storage allocator", CACM 8(10), 1965.
class BuddyIndex {
 public:
  static constexpr unsigned kOrders = 36;  // 2^0 to 2^35 granules (kMaxCapacity)
  static constexpr unsigned kSplitsOfPut = 2 * kOrders;

  BuddyIndex(RunMap& map, Granules handle) : map_(map), handle_(handle) { heads_.fill(kNoNode); }

  void put(NodeId id);
  void withdraw(NodeId id);
  Spot choose(Granules length, Granules alignment);

  /// The length of the longest free block: what lies behind it may be free as well.
  Granules longest() const;
  void list(Granules length, std::vector<Run>& runs) const;
  std::uint64_t runs() const { return runs_; }
  std::uint64_t free_handles() const { return free_handles_; }
  bool is_consistent() const;

 private:
  static constexpr unsigned kProbes = 16;

  NodeId merge_buddies(NodeId id);
  bool is_block(NodeId id, Granules start, Granules length) const;
  void enlist(NodeId id);
  /// Whether a request may begin with this block: rightly aligned, and free as far as it reaches.
  bool holds(NodeId id, Granules length, Granules alignment) const;
  NodeId lowest_that_holds(unsigned order, Granules length, Granules alignment, unsigned probes) const;

  RunMap& map_;
  Granules handle_;
  std::uint64_t orders_ = 0;  // orders with any block
  std::array<NodeId, kOrders> heads_;
  std::uint64_t runs_ = 0;
  std::uint64_t free_handles_ = 0;
};

extern template class RunHeap<BuddyIndex>;
using Buddy = RunHeap<BuddyIndex>;

}  // namespace cupool::pool
