// SPDX-License-Identifier: Apache-2.0
//
// A benchmark that compares with something wrong is worse than none: the contestants keep their own rules, and give out no byte
// twice.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "tests/bench/heap/map_fit.h"
#include "tests/bench/heap/ops.h"
#include "tests/bench/heap/pytorch_cache.h"

namespace cupool::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

template <class Allocator>
void gives_no_byte_twice() {
  Allocator allocator;
  std::mt19937_64 random(3);
  std::map<std::uint64_t, Block> live;  // by offset
  for (int step = 0; step < 20000; ++step) {
    if (live.size() > 300 || (!live.empty() && random() % 3 == 0)) {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      allocator.give_back(victim->second);
      live.erase(victim);
      continue;
    }
    const std::uint64_t bytes = rounded(std::uint64_t{1} << random() % 26) + kAlignment * (random() % 8);
    const Block block = allocator.take(bytes);
    REQUIRE(block.length >= bytes);
    const auto after = live.lower_bound(block.offset);
    REQUIRE((after == live.end() || after->first >= block.offset + block.length));
    REQUIRE((after == live.begin() || std::prev(after)->first + std::prev(after)->second.length <= block.offset));
    REQUIRE(block.offset + block.length <= allocator.range_in_use());
    live[block.offset] = block;
  }
}

}  // namespace

TEST_CASE("contestants give out no byte twice", "[bench][heap]") {
  gives_no_byte_twice<BestFit>();
  gives_no_byte_twice<FirstFit>();
  gives_no_byte_twice<PyTorchCache>();
}

TEST_CASE("PyTorch's cache asks the driver for segments by its published rules", "[bench][heap]") {
  std::vector<std::uint64_t> segments;
  PyTorchCache cache([&segments](std::uint64_t bytes) { segments.push_back(bytes); });
  cache.take(512);
  cache.take(kMiB);        // fits the rest of the first small segment
  cache.take(kMiB + 512);  // large pool: 20 MiB
  cache.take(10 * kMiB);   // fits the rest of it
  cache.take(10 * kMiB);   // a segment of its own
  cache.take(11 * kMiB + 512);
  CHECK(segments == std::vector<std::uint64_t>{2 * kMiB, 20 * kMiB, 10 * kMiB, 12 * kMiB});
}

TEST_CASE("PyTorch's cache splits large blocks only when over 1 MiB is left, and merges inside a segment only", "[bench][heap]") {
  PyTorchCache cache;
  const Block whole = cache.take(12 * kMiB);
  cache.give_back(whole);
  const Block kept = cache.take(11 * kMiB);  // leaves exactly 1 MiB: not split
  CHECK(kept.length == 12 * kMiB);
  cache.give_back(kept);
  CHECK(cache.take(11 * kMiB - 512).length == 11 * kMiB - 512);
  const Block other = cache.take(12 * kMiB);  // a second segment behind the first
  cache.give_back(other);
  cache.take(14 * kMiB);  // fits neither: neighbours in two segments do not merge
  CHECK(cache.range_in_use() == 38 * kMiB);
}

TEST_CASE("a trace is played as a loop whose live sum is known at every event", "[bench][heap]") {
  OpsBuilder builder("x", "x.trace", "tensor");
  builder.allocate(7, 1);
  builder.allocate(9, 1024);
  builder.free(7);
  builder.allocate(8, 513);
  const Ops ops = builder.finish();
  CHECK(ops.live == std::vector<std::uint64_t>{512, 1536, 1024, 2048, 1024, 0});
  CHECK(ops.largest_live == 2048);
  CHECK(ops.most_blocks == 2);
  CHECK(ops.slots == 2);
}

}  // namespace cupool::bench
