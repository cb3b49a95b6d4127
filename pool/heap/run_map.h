// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pool/heap/run.h"

namespace cupool::pool {

/// Names one node of a RunMap. Reused after the node is gone.
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;

/// A stretch of one state. Nodes never move in the index space: a merge lets the left one swallow the right one.
struct Node {
  Granules start() const { return Granules{start_}; }
  Granules length() const { return Granules{length_}; }
  Granules end() const { return Granules{start_ + length_}; }
  Run run() const { return Run{start(), length()}; }
  State state() const { return static_cast<State>(state_); }

  std::uint64_t start_ : 40;
  std::uint64_t state_ : 8;
  std::uint64_t length_ : 40;
  NodeId before = kNoNode;       ///< next lower neighbour in the index space
  NodeId after = kNoNode;        ///< next higher neighbour
  NodeId list_before = kNoNode;  ///< for whatever list the owner keeps this node in
  NodeId list_after = kNoNode;

  Node() : start_(0), state_(0), length_(0) {}
};
static_assert(sizeof(Node) == 32, "64 bytes of metadata per block are allowed: one node for it and one for a hole beside it");

/// The index space as a list of nodes in address order: every granule of [0, capacity) lies in exactly one.
///
/// Knows states and neighbours, not policy: engines decide what to split and merge, and index the free nodes.
/// Splitting and merging cost a constant; find() looks at one page and its nodes.
class RunMap {
 public:
  /// Starts as one absent node. `page`, a power of two, is the step of the index behind find(): 4 bytes for each. May throw
  /// std::bad_alloc.
  RunMap(Granules capacity, Granules page);

  Node& operator[](NodeId id) { return chunks_[id / kChunk][id % kChunk]; }
  const Node& operator[](NodeId id) const { return chunks_[id / kChunk][id % kChunk]; }

  /// Makes the next `nodes` splits infallible, the new nodes starting below `end`. False, changing nothing, when the host has no
  /// memory.
  bool reserve(unsigned nodes, Granules end) {
    const bool names_suffice = unused_count_ + (chunks_.size() * kChunk - used_) >= nodes;
    if (names_suffice && (end.count - 1) >> page_shift_ < first_in_page_.size()) return true;
    return reserve_slowly(nodes, end);
  }

  /// Cuts a node in two; the left part keeps its name. `length` (of the left part) must lie strictly inside. Returns the right
  /// part, of the same state. The owner's lists are not touched. Needs a reserve() before.
  NodeId split(NodeId id, Granules length);

  /// Lets `id` swallow its higher neighbour, whose name becomes free.
  void swallow_after(NodeId id);

  void set_state(NodeId id, State state) { (*this)[id].state_ = static_cast<std::uint8_t>(state); }

  /// Whether a name stands for a node at all; marks that come from outside are checked with it.
  bool is_node(NodeId id) const { return id < used_ && (*this)[id].length_ != 0; }

  /// The node that holds a position below the capacity.
  NodeId find(Granules position) const;

  /// Node 0 is created first and never swallowed: it starts at 0.
  NodeId first() const { return 0; }
  Granules capacity() const { return capacity_; }
  std::uint64_t node_count() const { return node_count_; }
  std::uint64_t metadata_bytes() const;

  /// Nodes tile the space, links and pages agree.
  bool is_consistent() const;

 private:
  static constexpr std::uint32_t kChunk = 2048;
  std::uint64_t page_of(const Node& node) const { return node.start_ >> page_shift_; }

  bool reserve_slowly(unsigned nodes, Granules end);
  NodeId add_node(Granules start, Granules length, State state);
  void enter_page(NodeId id);
  void leave_page(NodeId id);

  Granules capacity_;
  unsigned page_shift_;
  // Chunks, so that growing neither moves nodes nor stalls one unlucky request.
  std::vector<std::unique_ptr<Node[]>> chunks_;
  std::uint32_t used_ = 0;   // names given out so far, free ones included
  NodeId unused_ = kNoNode;  // free names, linked by list_after
  std::uint32_t unused_count_ = 0;
  std::uint64_t node_count_ = 0;
  std::vector<NodeId> first_in_page_;         // the lowest node that starts in a page
  std::vector<std::uint64_t> page_has_node_;  // the same as one bit per page, to pass over empty ones quickly
};

// What every request runs through: inline.

inline NodeId RunMap::add_node(Granules start, Granules length, State state) {
  NodeId id = unused_;
  if (id != kNoNode) {
    unused_ = (*this)[id].list_after;
    --unused_count_;
  } else {
    id = used_++;
  }
  Node& node = (*this)[id];
  node.start_ = start.count;
  node.length_ = length.count;
  node.state_ = static_cast<std::uint8_t>(state);
  ++node_count_;
  return id;
}

inline void RunMap::enter_page(NodeId id) {
  const Node& node = (*this)[id];
  const std::uint64_t page = page_of(node);
  if (node.before != kNoNode && page_of((*this)[node.before]) == page) return;
  first_in_page_[page] = id;
  page_has_node_[page / 64] |= std::uint64_t{1} << (page % 64);
}

inline void RunMap::leave_page(NodeId id) {
  const Node& node = (*this)[id];
  const std::uint64_t page = page_of(node);
  if (node.before != kNoNode && page_of((*this)[node.before]) == page) return;
  if (node.after != kNoNode && page_of((*this)[node.after]) == page) {
    first_in_page_[page] = node.after;
  } else {
    first_in_page_[page] = kNoNode;
    page_has_node_[page / 64] &= ~(std::uint64_t{1} << (page % 64));
  }
}

inline NodeId RunMap::split(NodeId id, Granules length) {
  const NodeId right = add_node((*this)[id].start() + length, (*this)[id].length() - length, (*this)[id].state());
  Node& left_node = (*this)[id];
  Node& right_node = (*this)[right];
  left_node.length_ = length.count;
  right_node.before = id;
  right_node.after = left_node.after;
  left_node.after = right;
  if (right_node.after != kNoNode) (*this)[right_node.after].before = right;
  enter_page(right);
  return right;
}

inline void RunMap::swallow_after(NodeId id) {
  Node& left_node = (*this)[id];
  const NodeId right = left_node.after;
  Node& right_node = (*this)[right];
  leave_page(right);
  left_node.length_ = left_node.length_ + right_node.length_;
  left_node.after = right_node.after;
  if (left_node.after != kNoNode) (*this)[left_node.after].before = id;
  right_node.length_ = 0;  // is_node() reads this
  right_node.list_after = unused_;
  unused_ = right;
  ++unused_count_;
  --node_count_;
}

}  // namespace cupool::pool
