// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tests/bench/heap/contestant.h"

namespace cupool::bench {

/// Free holes of one arena in ordered containers: what best fit costs when nobody thinks about it, and the quality to reach.
class BestFit final : public Contestant {
 public:
  Block take(std::uint64_t bytes) override {
    const auto hole = by_length_.lower_bound({bytes, 0});
    if (hole == by_length_.end()) return take_at_end(bytes);
    const auto [length, start] = *hole;
    by_length_.erase(hole);
    by_start_.erase(start);
    if (length > bytes) add(start + bytes, length - bytes);
    return Block{start, bytes, 0};
  }

  void give_back(const Block& block) override {
    std::uint64_t start = block.offset;
    std::uint64_t end = start + block.length;
    auto after = by_start_.lower_bound(start);
    if (after != by_start_.end() && after->first == end) {
      end += after->second;
      by_length_.erase({after->second, after->first});
      after = by_start_.erase(after);
    }
    if (after != by_start_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == start) {
        start = before->first;
        by_length_.erase({before->second, before->first});
        by_start_.erase(before);
      }
    }
    if (end == end_) {
      end_ = start;
      return;
    }
    add(start, end - start);
  }

  std::uint64_t range_in_use() const override { return highest_end_; }

 private:
  Block take_at_end(std::uint64_t bytes) {
    const std::uint64_t start = end_;
    end_ += bytes;
    highest_end_ = std::max(highest_end_, end_);
    return Block{start, bytes, 0};
  }
  void add(std::uint64_t start, std::uint64_t length) {
    by_start_.emplace(start, length);
    by_length_.emplace(length, start);
  }

  std::map<std::uint64_t, std::uint64_t> by_start_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_length_;  // then by start: the lowest of equals
  std::uint64_t end_ = 0;
  std::uint64_t highest_end_ = 0;
};

/// The lowest hole that is long enough.
class FirstFit final : public Contestant {
 public:
  Block take(std::uint64_t bytes) override {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < bytes) continue;
      const std::uint64_t start = hole->first;
      const std::uint64_t rest = hole->second - bytes;
      holes_.erase(hole);
      if (rest != 0) holes_.emplace(start + bytes, rest);
      return Block{start, bytes, 0};
    }
    const std::uint64_t start = end_;
    end_ += bytes;
    highest_end_ = std::max(highest_end_, end_);
    return Block{start, bytes, 0};
  }

  void give_back(const Block& block) override {
    std::uint64_t start = block.offset;
    std::uint64_t end = start + block.length;
    auto after = holes_.lower_bound(start);
    if (after != holes_.end() && after->first == end) {
      end += after->second;
      after = holes_.erase(after);
    }
    if (after != holes_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == start) {
        start = before->first;
        holes_.erase(before);
      }
    }
    if (end == end_) {
      end_ = start;
    } else {
      holes_.emplace(start, end - start);
    }
  }

  std::uint64_t range_in_use() const override { return highest_end_; }

 private:
  std::map<std::uint64_t, std::uint64_t> holes_;
  std::uint64_t end_ = 0;
  std::uint64_t highest_end_ = 0;
};

}  // namespace cupool::bench
