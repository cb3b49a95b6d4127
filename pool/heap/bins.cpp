// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/bins.h"

#include <algorithm>
#include <limits>

#include "pool/heap/fit.h"

namespace cupool::pool {

NodeId Bins::search_bin(unsigned bin, Granules length, Granules alignment, unsigned probes) {
  NodeId best = kNoNode;
  std::uint64_t best_length = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t best_start = 0;
  std::uint64_t longest = 0;
  NodeId id = heads_[bin];
  for (; id != kNoNode && probes != 0; --probes) {
    const Node& node = map_[id];
    const std::uint64_t node_length = node.length_;
    longest = std::max(longest, node_length);
    if (node_length >= length.count && node_length <= best_length && (node_length < best_length || node.start_ < best_start) &&
        fits(node.run(), length, alignment)) {
      best = id;
      best_length = node_length;
      best_start = node.start_;
    }
    id = node.list_after;
  }
  if (id == kNoNode) bound_[bin] = longest;  // all were seen
  return best;
}

NodeId Bins::find(Granules length, Granules alignment) {
  const unsigned exact = bin_of(length.count);
  // Beyond this bin every node holds the request wherever it starts.
  const unsigned certain = bin_of(length.count + alignment.count - 1) + 1;
  for (unsigned bin = next_bin(exact); bin < kBins; bin = next_bin(bin + 1)) {
    if (bound_[bin] < length.count) continue;
    const NodeId id = search_bin(bin, length, alignment, probes_of(bin));
    if (id != kNoNode) return id;
  }
  // Only the bins in which a node may or may not fit can hide one behind the nodes looked at.
  for (unsigned bin = next_bin(exact); bin < certain && bin < kBins; bin = next_bin(bin + 1)) {
    if (bound_[bin] < length.count) continue;
    const NodeId id = search_bin(bin, length, alignment, std::numeric_limits<unsigned>::max());
    if (id != kNoNode) return id;
  }
  return kNoNode;
}

Granules Bins::longest() const {
  if (first_ == 0) return Granules{0};
  const unsigned row = 31U - static_cast<unsigned>(std::countl_zero(first_));
  const unsigned bin = row * kSecond + 31U - static_cast<unsigned>(std::countl_zero(second_[row]));
  std::uint64_t longest = 0;
  for (NodeId id = heads_[bin]; id != kNoNode; id = map_[id].list_after)
    longest = std::max(longest, std::uint64_t{map_[id].length_});
  return Granules{longest};
}

void Bins::list(Granules length, std::vector<Run>& runs) const {
  for (unsigned bin = next_bin(bin_of(length.count)); bin < kBins; bin = next_bin(bin + 1)) {
    for (NodeId id = heads_[bin]; id != kNoNode; id = map_[id].list_after) {
      if (map_[id].length() >= length) runs.push_back(map_[id].run());
    }
  }
}

bool Bins::is_consistent() const {
  std::uint64_t in_bins = 0;
  for (unsigned bin = 0; bin < kBins; ++bin) {
    const bool marked = (second_[bin / kSecond] >> (bin % kSecond) & 1U) != 0;
    if (marked != (heads_[bin] != kNoNode)) return false;
    NodeId before = kNoNode;
    for (NodeId id = heads_[bin]; id != kNoNode; id = map_[id].list_after) {
      const Node& node = map_[id];
      if (node.state() != State::free || bin_of(node.length_) != bin || node.length_ > bound_[bin] || node.list_before != before)
        return false;
      before = id;
      ++in_bins;
    }
  }
  for (unsigned row = 0; row < kFirst; ++row) {
    if (((first_ >> row & 1U) != 0) != (second_[row] != 0)) return false;
  }
  std::uint64_t free_nodes = 0;
  for (NodeId id = map_.first(); id != kNoNode; id = map_[id].after) free_nodes += map_[id].state() == State::free ? 1 : 0;
  return free_nodes == in_bins;
}

}  // namespace cupool::pool
