// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "pool/heap/run_map.h"

namespace cupool::pool {

/// Free nodes sorted into bins by length: exact below 32 granules, 32 bins for each power of two above (at most 3.1 % wide).
///
/// Two bitmaps find the next bin that is not empty with two instructions. The nodes' list links are used.
/// After Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004; what differs: the bin that a
/// request falls into is searched too, and the tightest fit at the lowest place is chosen, which is what gives best-fit quality.
class Bins {
 public:
  explicit Bins(RunMap& map) : map_(map) { heads_.fill(kNoNode); }

  void insert(NodeId id);
  void remove(NodeId id);

  /// The shortest, then lowest, free node among those looked at that can hold `length` granules at a multiple of `alignment`;
  /// kNoNode when no free node at all can.
  ///
  /// Looks at a few nodes of a bin and falls back to all of them only before it gives up.
  NodeId find(Granules length, Granules alignment);

  /// The length of the longest free node. Looks at one bin.
  Granules longest() const;

  /// Appends the nodes of at least `length` granules. May throw std::bad_alloc.
  void list(Granules length, std::vector<Run>& runs) const;

  bool is_consistent() const;

 private:
  static constexpr unsigned kSecondBits = 5;
  static constexpr unsigned kSecond = 1U << kSecondBits;
  static constexpr unsigned kFirst = 32;  // lengths up to 2^35 (kMaxCapacity) and the exact row
  /// How many nodes of a bin are looked at. More than these changes no decision that matters on the traces measured (README), and
  /// every node is a cache line. Where all of a bin are equally long, the search is only for the lowest.
  static constexpr unsigned kProbes = 8;
  static constexpr unsigned kProbesOfEqual = 4;

  static unsigned bin_of(std::uint64_t length) {
    if (length < kSecond) return static_cast<unsigned>(length);
    const unsigned top = 63U - static_cast<unsigned>(std::countl_zero(length));
    const unsigned second = static_cast<unsigned>(length >> (top - kSecondBits)) & (kSecond - 1);
    return (top - kSecondBits + 1) * kSecond + second;
  }
  /// The first bin at or above `bin` that is not empty; kBins when there is none.
  unsigned next_bin(unsigned bin) const;
  NodeId search_bin(unsigned bin, Granules length, Granules alignment, unsigned probes);

  /// Bins of one length: those of the exact row and of the first row above it.
  static unsigned probes_of(unsigned bin) { return bin < 2 * kSecond ? kProbesOfEqual : kProbes; }

  static constexpr unsigned kBins = kFirst * kSecond;
  RunMap& map_;
  std::uint32_t first_ = 0;                     // rows with any node
  std::array<std::uint32_t, kFirst> second_{};  // bins with any node
  std::array<NodeId, kBins> heads_;
  // No node of the bin is longer than this. Saves the search of a bin that cannot hold the request, again and again.
  std::array<std::uint64_t, kBins> bound_{};
};

// What every request runs through: inline.

inline void Bins::insert(NodeId id) {
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

inline void Bins::remove(NodeId id) {
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

inline unsigned Bins::next_bin(unsigned bin) const {
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

}  // namespace cupool::pool
