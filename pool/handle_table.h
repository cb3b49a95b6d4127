// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pool/backing.h"

namespace cupool::pool {

/// Consecutive positions of one handle each, counted from the begin of the range.
struct Slots {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  constexpr std::uint64_t end() const { return first + count; }
  constexpr bool operator==(const Slots&) const = default;
};

/// Which handle lies where in an arena's range, when a position was last used, and which handles peers hold.
/// Not thread-safe: Arena holds LockRank::arena. Grows with the highest position; ensure() obtains the memory, the rest cannot
/// fail.
class HandleTable {
 public:
  /// Makes room for positions below `end`. May throw std::bad_alloc, changing nothing.
  void ensure(std::uint64_t end) {
    if (end <= handles_.size()) return;
    touched_.reserve(end);
    handles_.resize(end, kNoHandle);
    touched_.resize(end, 0);
  }

  HandleId at(std::uint64_t position) const { return position < handles_.size() ? handles_[position] : kNoHandle; }
  bool is_mapped(std::uint64_t position) const { return at(position) != kNoHandle; }

  void set(std::uint64_t position, HandleId handle) {
    handles_[position] = handle;
    ++mapped_;
  }
  void clear(std::uint64_t position) {
    handles_[position] = kNoHandle;
    --mapped_;
  }
  std::uint64_t mapped() const { return mapped_; }

  /// One past the highest mapped position.
  std::uint64_t end() const {
    std::uint64_t end = handles_.size();
    while (end != 0 && handles_[end - 1] == kNoHandle) --end;
    return end;
  }

  /// Notes that positions [first, last] were used in the present period.
  void touch(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t position = first; position <= last; ++position) touched_[position] = period_;
  }
  void next_period() { ++period_; }
  /// Not used in the present period nor in the one before.
  bool is_cold(std::uint64_t position) const { return touched_[position] + 1 < period_; }

  /// A peer maps or has imported the handle at this position: it stays where it is until every hold is let go.
  void hold(std::uint64_t position) { ++held_[position]; }
  /// False when nobody holds it.
  bool let_go(std::uint64_t position) {
    const auto found = held_.find(position);
    if (found == held_.end()) return false;
    if (--found->second == 0) held_.erase(found);
    return true;
  }
  bool is_held(std::uint64_t position) const { return !held_.empty() && held_.contains(position); }
  std::uint64_t held() const { return held_.size(); }
  template <class Visit>
  void for_each_held(Visit visit) const {
    for (const auto& [position, holds] : held_) visit(position);
  }

  std::uint64_t metadata_bytes() const {
    return handles_.capacity() * sizeof(HandleId) + touched_.capacity() * sizeof(std::uint32_t) + held_.size() * 64;
  }

 private:
  std::vector<HandleId> handles_;
  std::vector<std::uint32_t> touched_;  ///< the period of the last use
  std::uint32_t period_ = 2;            ///< so that what was never used is cold
  std::uint64_t mapped_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> held_;  ///< by position: how many holds
};

}  // namespace cupool::pool
