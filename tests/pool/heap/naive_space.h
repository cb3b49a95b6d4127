// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "pool/heap/heap.h"

namespace cupool::pool {

/// The reference: one number for each granule. Slow and obviously right.
class NaiveSpace {
 public:
  static constexpr int kAbsent = -1;
  static constexpr int kFree = 0;  // and above: the block that has it

  NaiveSpace(std::uint64_t capacity, std::uint64_t handle) : cells_(capacity, kAbsent), handle_(handle) {}

  std::uint64_t capacity() const { return cells_.size(); }
  int at(std::uint64_t position) const { return cells_[position]; }

  bool holds(Run run) const { return run.length.count <= capacity() && run.start.count <= capacity() - run.length.count; }
  bool is_all(Run run, int what) const {
    for (std::uint64_t at = run.start.count; at < run.end().count; ++at) {
      if (cells_[at] != what) return false;
    }
    return true;
  }
  bool has_any(Run run, int what) const {
    for (std::uint64_t at = run.start.count; at < run.end().count; ++at) {
      if (cells_[at] == what) return true;
    }
    return false;
  }
  bool has_taken(Run run) const {
    for (std::uint64_t at = run.start.count; at < run.end().count; ++at) {
      if (cells_[at] > kFree) return true;
    }
    return false;
  }
  void set(Run run, int what) {
    std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(run.start.count), run.length.count, what);
  }

  /// A multiple of `step` from which `length` granules are free.
  std::optional<std::uint64_t> find_free(std::uint64_t length, std::uint64_t step) const {
    for (std::uint64_t start = 0; start + length <= capacity(); start += step) {
      if (is_all(Run{Granules{start}, Granules{length}}, kFree)) return start;
    }
    return std::nullopt;
  }

  /// Handles that a run touches and that are absent in what it touches of them.
  std::uint64_t missing(Run run) const {
    std::uint64_t count = 0;
    for (std::uint64_t handle = run.start.count / handle_; handle * handle_ < run.end().count; ++handle) {
      const std::uint64_t from = std::max(run.start.count, handle * handle_);
      const std::uint64_t to = std::min(run.end().count, (handle + 1) * handle_);
      count += has_any(Run{Granules{from}, Granules{to - from}}, kAbsent) ? 1 : 0;
    }
    return count;
  }
  /// Whole free handles that a run touches; of the whole space, the number of free handles.
  std::uint64_t free_handles(Run run) const {
    std::uint64_t count = 0;
    for (std::uint64_t handle = run.start.count / handle_; handle * handle_ < run.end().count; ++handle) {
      if ((handle + 1) * handle_ > capacity()) break;
      count += is_all(Run{Granules{handle * handle_}, Granules{handle_}}, kFree) ? 1 : 0;
    }
    return count;
  }
  /// Whether the granules around a run that nobody has taken, the run included, contain an absent one.
  bool borders_absent(Run run) const {
    std::uint64_t start = run.start.count;
    std::uint64_t end = run.end().count;
    while (start > 0 && cells_[start - 1] <= kFree) --start;
    while (end < capacity() && cells_[end] <= kFree) ++end;
    return has_any(Run{Granules{start}, Granules{end - start}}, kAbsent);
  }
  /// The fewest missing handles of any place for a request, by trying them all.
  std::optional<std::uint64_t> fewest_missing(std::uint64_t length, std::uint64_t alignment, std::uint64_t supply) const {
    std::optional<std::uint64_t> fewest;
    for (std::uint64_t start = 0; start + length <= capacity(); start += alignment) {
      const Run run{Granules{start}, Granules{length}};
      if (has_taken(run) || !borders_absent(run) || missing(run) + free_handles(run) > supply) continue;
      if (!fewest || missing(run) < *fewest) fewest = missing(run);
    }
    return fewest;
  }

 private:
  std::vector<int> cells_;
  std::uint64_t handle_;
};

}  // namespace cupool::pool
