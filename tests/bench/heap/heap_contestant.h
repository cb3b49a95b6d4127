// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "pool/heap/heap.h"
#include "tests/bench/heap/contestant.h"

namespace cupool::bench {

/// One of our engines, all of whose range is grown from the start: carving alone, without an arena.
class HeapContestant final : public Contestant {
 public:
  HeapContestant(pool::Engine engine, bool slabs, std::uint64_t largest_live) {
    pool::HeapConfig config;
    // At least four times what is live: even a buddy heap needs no more. A power of two, so that its blocks do not begin with
    // leftovers at the far end.
    config.capacity = pool::Granules{std::bit_ceil(largest_live / kAlignment * 4 + kSpare)};
    config.engine = engine;
    config.slabs = slabs;
    heap_ = std::move(pool::make_heap(config).value());
    if (!heap_->grow(pool::Run{pool::Granules{0}, config.capacity})) std::abort();
  }

  Block take(std::uint64_t bytes) override {
    const Result<pool::Taken> taken = heap_->take(pool::Granules{bytes / kAlignment}, pool::Granules{1});
    if (!taken) {
      std::fprintf(stderr, "heap_bench: a range of four times the live bytes is not enough for this trace\n");
      std::exit(1);
    }
    end_ = std::max(end_, taken->run.end().count);
    return Block{taken->run.start.count * kAlignment, taken->run.length.count * kAlignment, taken->mark};
  }

  void give_back(const Block& block) override {
    const pool::Run run{pool::Granules{block.offset / kAlignment}, pool::Granules{block.length / kAlignment}};
    if (!heap_->give_back(pool::Taken{run, static_cast<std::uint32_t>(block.mark)})) std::abort();
  }

  std::uint64_t range_in_use() const override { return end_ * kAlignment; }
  std::uint64_t metadata_bytes() const override { return heap_->statistics().metadata_bytes; }
  const pool::Heap& heap() const { return *heap_; }

 private:
  static constexpr std::uint64_t kSpare = std::uint64_t{1} << 20;  // granules

  std::unique_ptr<pool::Heap> heap_;
  std::uint64_t end_ = 0;  // granules
};

}  // namespace cupool::bench
