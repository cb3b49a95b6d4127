// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/buddy.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace cupool::pool {
namespace {

unsigned order_below(std::uint64_t length) {
  return static_cast<unsigned>(std::bit_width(length)) - 1;
}

/// The longest block that may begin at a position and is not longer than `length`.
Granules block_at(Granules start, Granules length) {
  const std::uint64_t longest = std::uint64_t{1} << order_below(length.count);
  if (start.count == 0) return Granules{longest};
  return Granules{std::min(longest, start.count & (~start.count + 1))};
}

}  // namespace

bool BuddyIndex::is_block(NodeId id, Granules start, Granules length) const {
  if (id == kNoNode) return false;
  const Node& node = map_[id];
  return node.state() == State::free && node.start() == start && node.length() == length;
}

NodeId BuddyIndex::merge_buddies(NodeId id) {
  for (;;) {
    const Granules start = map_[id].start();
    const Granules length = map_[id].length();
    const Granules buddy{start.count ^ length.count};
    const NodeId neighbour = buddy > start ? map_[id].after : map_[id].before;
    if (!is_block(neighbour, buddy, length)) return id;
    withdraw(neighbour);
    if (buddy < start) id = neighbour;
    map_.swallow_after(id);
  }
}

void BuddyIndex::enlist(NodeId id) {
  Node& node = map_[id];
  const unsigned order = order_below(node.length_);
  node.list_before = kNoNode;
  node.list_after = heads_[order];
  if (heads_[order] != kNoNode) map_[heads_[order]].list_before = id;
  heads_[order] = id;
  orders_ |= std::uint64_t{1} << order;
  ++runs_;
  free_handles_ += handles_inside(node.run(), handle_);
}

void BuddyIndex::withdraw(NodeId id) {
  const Node& node = map_[id];
  const unsigned order = order_below(node.length_);
  if (node.list_after != kNoNode) map_[node.list_after].list_before = node.list_before;
  (node.list_before != kNoNode ? map_[node.list_before].list_after : heads_[order]) = node.list_after;
  if (heads_[order] == kNoNode) orders_ &= ~(std::uint64_t{1} << order);
  --runs_;
  free_handles_ -= handles_inside(node.run(), handle_);
}

void BuddyIndex::put(NodeId id) {
  for (;;) {
    const Granules block = block_at(map_[id].start(), map_[id].length());
    NodeId rest = kNoNode;
    if (block < map_[id].length()) {
      rest = map_.split(id, block);
      map_.set_state(rest, State::taken);  // not in a list yet: merging must not meet it
    }
    enlist(merge_buddies(id));
    if (rest == kNoNode) return;
    map_.set_state(rest, State::free);
    id = rest;
  }
}

bool BuddyIndex::holds(NodeId id, Granules length, Granules alignment) const {
  const Granules start = map_[id].start();
  if (start.count % alignment.count != 0) return false;
  const Granules end = start + length;
  while (map_[id].end() < end) {
    id = map_[id].after;
    if (id == kNoNode || map_[id].state() != State::free) return false;
  }
  return true;
}

NodeId BuddyIndex::lowest_that_holds(unsigned order, Granules length, Granules alignment, unsigned probes) const {
  NodeId best = kNoNode;
  for (NodeId id = heads_[order]; id != kNoNode && probes != 0; id = map_[id].list_after, --probes) {
    if (best != kNoNode && map_[id].start() > map_[best].start()) continue;
    if (holds(id, length, alignment)) best = id;
  }
  return best;
}

Spot BuddyIndex::choose(Granules length, Granules alignment) {
  const unsigned least = order_below(length.count);
  for (const unsigned probes : {kProbes, std::numeric_limits<unsigned>::max()}) {
    for (std::uint64_t orders = orders_ >> least << least; orders != 0; orders &= orders - 1) {
      const NodeId id = lowest_that_holds(static_cast<unsigned>(std::countr_zero(orders)), length, alignment, probes);
      if (id != kNoNode) return Spot{id, map_[id].start()};
    }
  }
  return Spot{};
}

Granules BuddyIndex::longest() const {
  return orders_ == 0 ? Granules{0} : Granules{std::uint64_t{1} << (std::bit_width(orders_) - 1)};
}

void BuddyIndex::list(Granules length, std::vector<Run>& runs) const {
  for (unsigned order = length.count == 0 ? 0 : order_below(length.count); order < kOrders; ++order) {
    for (NodeId id = heads_[order]; id != kNoNode; id = map_[id].list_after) {
      if (map_[id].length() >= length) runs.push_back(map_[id].run());
    }
  }
}

bool BuddyIndex::is_consistent() const {
  std::uint64_t runs = 0, handles = 0, listed = 0;
  for (NodeId id = map_.first(); id != kNoNode; id = map_[id].after) {
    const Node& node = map_[id];
    if (node.state() != State::free) continue;
    if (block_at(node.start(), node.length()) != node.length()) return false;
    const Granules buddy{node.start().count ^ node.length().count};
    if (is_block(node.after, buddy, node.length()) || is_block(node.before, buddy, node.length())) return false;
    ++runs;
    handles += handles_inside(node.run(), handle_);
  }
  for (unsigned order = 0; order < kOrders; ++order) {
    if ((heads_[order] != kNoNode) != ((orders_ >> order & 1) != 0)) return false;
    for (NodeId id = heads_[order]; id != kNoNode; id = map_[id].list_after, ++listed) {
      if (map_[id].state() != State::free || order_below(map_[id].length_) != order) return false;
    }
  }
  return runs == runs_ && handles == free_handles_ && listed == runs;
}

template class RunHeap<BuddyIndex>;

}  // namespace cupool::pool
