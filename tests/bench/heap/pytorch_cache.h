// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "tests/bench/heap/contestant.h"

namespace cupool::bench {

/// PyTorch's caching policy, from its published rules (one stream, default settings).
///
/// Requests up to 1 MiB come out of segments of 2 MiB; from 1 to 10 MiB out of segments of 20 MiB; larger ones get a segment of
/// their size rounded up to 2 MiB. Best fit among the free blocks of the pool (small or large), by length, then address. The rest
/// of a block is split off if it is at least 512 bytes (small pool) or more than 1 MiB (large pool). Free neighbours merge inside
/// their segment only. Segments are kept.
class PyTorchCache final : public Contestant {
 public:
  using OnSegment = std::function<void(std::uint64_t bytes)>;
  explicit PyTorchCache(OnSegment on_segment = {}) : on_segment_(std::move(on_segment)) {}

  Block take(std::uint64_t bytes) override;
  void give_back(const Block& block) override;
  std::uint64_t range_in_use() const override { return segments_end_; }

 private:
  struct Chunk {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    Chunk* before = nullptr;  // neighbours in the segment
    Chunk* after = nullptr;
    bool is_free = false;
    bool is_small = false;
  };
  struct ByLength {
    bool operator()(const Chunk* a, const Chunk* b) const {
      return a->length != b->length ? a->length < b->length : a->start < b->start;
    }
  };
  using Pool = std::set<Chunk*, ByLength>;

  static bool is_small(std::uint64_t bytes);
  static std::uint64_t segment_for(std::uint64_t bytes);
  static bool is_split(const Chunk& chunk, std::uint64_t bytes);
  Pool& pool_of(const Chunk& chunk) { return chunk.is_small ? small_ : large_; }
  Chunk* add_segment(std::uint64_t bytes);
  Chunk* new_chunk();
  void swallow_after(Chunk* chunk);

  OnSegment on_segment_;
  Pool small_;
  Pool large_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Chunk*> unused_;
  std::uint64_t segments_end_ = 0;
};

}  // namespace cupool::bench
