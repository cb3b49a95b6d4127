// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/pytorch_cache.h"

namespace cupool::bench {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestSmall = kMebibyte;
constexpr std::uint64_t kSmallSegment = 2 * kMebibyte;
constexpr std::uint64_t kSmallestHuge = 10 * kMebibyte;
constexpr std::uint64_t kLargeSegment = 20 * kMebibyte;
constexpr std::uint64_t kHugeStep = 2 * kMebibyte;

}  // namespace

bool PyTorchCache::is_small(std::uint64_t bytes) {
  return bytes <= kLargestSmall;
}

std::uint64_t PyTorchCache::segment_for(std::uint64_t bytes) {
  if (is_small(bytes)) return kSmallSegment;
  if (bytes < kSmallestHuge) return kLargeSegment;
  return (bytes + kHugeStep - 1) / kHugeStep * kHugeStep;
}

bool PyTorchCache::is_split(const Chunk& chunk, std::uint64_t bytes) {
  const std::uint64_t rest = chunk.length - bytes;
  return chunk.is_small ? rest >= kAlignment : rest > kLargestSmall;
}

PyTorchCache::Chunk* PyTorchCache::new_chunk() {
  if (unused_.empty()) {
    chunks_.push_back(std::make_unique<Chunk>());
    return chunks_.back().get();
  }
  Chunk* const chunk = unused_.back();
  unused_.pop_back();
  *chunk = Chunk{};
  return chunk;
}

PyTorchCache::Chunk* PyTorchCache::add_segment(std::uint64_t bytes) {
  Chunk* const chunk = new_chunk();
  chunk->start = segments_end_;
  chunk->length = segment_for(bytes);
  chunk->is_small = is_small(bytes);
  segments_end_ += chunk->length;
  if (on_segment_) on_segment_(chunk->length);
  return chunk;
}

Block PyTorchCache::take(std::uint64_t bytes) {
  Pool& pool = is_small(bytes) ? small_ : large_;
  Chunk wanted;
  wanted.length = bytes;
  const auto found = pool.lower_bound(&wanted);
  Chunk* chunk = nullptr;
  if (found != pool.end()) {
    chunk = *found;
    pool.erase(found);
  } else {
    chunk = add_segment(bytes);
  }
  chunk->is_free = false;
  if (is_split(*chunk, bytes)) {
    Chunk* const rest = new_chunk();
    rest->start = chunk->start + bytes;
    rest->length = chunk->length - bytes;
    rest->before = chunk;
    rest->after = chunk->after;
    rest->is_free = true;
    rest->is_small = chunk->is_small;
    if (rest->after != nullptr) rest->after->before = rest;
    chunk->after = rest;
    chunk->length = bytes;
    pool.insert(rest);
  }
  return Block{chunk->start, chunk->length, reinterpret_cast<std::uint64_t>(chunk)};
}

void PyTorchCache::swallow_after(Chunk* chunk) {
  Chunk* const after = chunk->after;
  chunk->length += after->length;
  chunk->after = after->after;
  if (chunk->after != nullptr) chunk->after->before = chunk;
  unused_.push_back(after);
}

void PyTorchCache::give_back(const Block& block) {
  auto* chunk = reinterpret_cast<Chunk*>(block.mark);
  Pool& pool = pool_of(*chunk);
  if (chunk->after != nullptr && chunk->after->is_free) {
    pool.erase(chunk->after);
    swallow_after(chunk);
  }
  if (chunk->before != nullptr && chunk->before->is_free) {
    chunk = chunk->before;
    pool.erase(chunk);
    swallow_after(chunk);
  }
  chunk->is_free = true;
  pool.insert(chunk);
}

}  // namespace cupool::bench
