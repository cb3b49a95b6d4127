// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "pool/arena.h"
#include "tests/bench/heap/contestant.h"
#include "tests/support/fake_backing.h"

namespace cupool::bench {

/// What a program's request really costs: the default heap inside the arena, with its lock, records and counters, over a backing
/// that only counts. Handles of 8 MiB, units of 128 MiB.
class ArenaContestant final : public Contestant {
 public:
  explicit ArenaContestant(std::uint64_t largest_live)
      : units_(Units{2 * units_covering(Bytes{largest_live}, kUnitStep).count + kSpareUnits}) {
    pool::ArenaConfig config;
    config.range = kUnitStep * (2 * units_.limit().count);
    arena_ = std::move(pool::Arena::create(config, backing_, units_, nullptr).value());
  }

  Block take(std::uint64_t bytes) override {
    const auto block = arena_->take(pool::Request{{}, Bytes{bytes}, {}, {}, {}});
    if (!block) {
      std::fprintf(stderr, "heap_bench: twice the live bytes are not enough for the arena on this trace\n");
      std::exit(1);
    }
    const std::uint64_t offset = (block->base - arena_->base()).count;
    std::uint64_t end = end_.load(std::memory_order_relaxed);
    while (end < offset + block->given.count && !end_.compare_exchange_weak(end, offset + block->given.count)) continue;
    return Block{offset, block->given.count, 0};
  }

  void give_back(const Block& block) override {
    if (!arena_->give_back(arena_->base() + Bytes{block.offset}, {})) std::abort();
  }

  std::uint64_t range_in_use() const override { return end_; }
  std::uint64_t metadata_bytes() const override { return arena_->stats().metadata.count; }
  bool is_thread_safe() const override { return true; }

 private:
  static constexpr std::uint64_t kSpareUnits = 8;

  pool::fakes::CountingBacking backing_;
  pool::LimitedUnits units_;
  std::unique_ptr<pool::Arena> arena_;
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace cupool::bench
