// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/bins.h"

#include <algorithm>
#include <limits>

#include "pool/heap/fit.h"

namespace cupool::pool {

void Bins::insert(NodeId id) {
  Node& node = map_[id];
  const std::uint64_t length = node.length_;
  const unsigned bin = bin_of(length);
  const NodeId head = heads_[bin];
  node.list_before = kNoNode;
  node.list_after = head;
  if (head != kNoNode) {
    map_[head].list_before = id;
  } else {
    second_[bin / kSecond] |= 1U << (bin % kSecond);
    first_ |= 1U << (bin / kSecond);
    bound_[bin] = 0;
  }
  heads_[bin] = id;
  bound_[bin] = std::max(bound_[bin], length);
}

void Bins::remove(NodeId id) {
  const Node& node = map_[id];
  if (node.list_after != kNoNode) map_[node.list_after].list_before = node.list_before;
  if (node.list_before != kNoNode) {
    map_[node.list_before].list_after = node.list_after;
    return;
  }
  const unsigned bin = bin_of(node.length_);
  heads_[bin] = node.list_after;
  if (node.list_after != kNoNode) return;
  second_[bin / kSecond] &= ~(1U << (bin % kSecond));
  if (second_[bin / kSecond] == 0) first_ &= ~(1U << (bin / kSecond));
}

unsigned Bins::next_bin(unsigned bin) const {
  if (bin >= kBins) return kBins;
  const unsigned row = bin / kSecond;
  const std::uint32_t rest = second_[row] & (~std::uint32_t{0} << (bin % kSecond));
  if (rest != 0) return row * kSecond + static_cast<unsigned>(std::countr_zero(rest));
  // Two shifts: one by 32 would be undefined for the last row.
  const std::uint32_t rows = first_ & (~std::uint32_t{0} << row << 1);
  if (rows == 0) return kBins;
  const unsigned next = static_cast<unsigned>(std::countr_zero(rows));
  return next * kSecond + static_cast<unsigned>(std::countr_zero(second_[next]));
}

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
