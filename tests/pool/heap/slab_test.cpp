// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <vector>

#include "pool/heap/heap.h"
#include "pool/heap/size_class.h"

namespace cupool::pool {
namespace {

constexpr Granules kOne{1};
constexpr Granules kSlab{4096};

/// A heap of 32 GiB in which 16 GiB are live, so that slabs are affordable; what is left lies behind.
struct LargeProgram {
  LargeProgram() {
    HeapConfig config;
    config.capacity = Granules{std::uint64_t{64} << 20};
    heap = std::move(make_heap(config).value());
    REQUIRE(heap->grow(Run{Granules{0}, config.capacity}));
    large = heap->take(Granules{std::uint64_t{32} << 20}, kOne).value();
  }
  std::vector<Taken> take(std::size_t count, Granules length) {
    std::vector<Taken> blocks;
    for (std::size_t i = 0; i < count; ++i) blocks.push_back(heap->take(length, kOne).value());
    return blocks;
  }
  void give_back(const std::vector<Taken>& blocks) {
    for (const Taken& block : blocks) REQUIRE(heap->give_back(block));
  }

  std::unique_ptr<Heap> heap;
  Taken large;
};

}  // namespace

TEST_CASE("a size class wastes less than 12.5 % of its slot, and nothing up to 16 granules", "[pool][heap]") {
  for (std::uint64_t length = 1; length <= kSlab.count / 2; ++length) {
    const SizeClass size_class = size_class_of(Granules{length});
    REQUIRE(size_class < kSizeClasses);
    const std::uint64_t slot = slot_length(size_class).count;
    REQUIRE(slot >= length);
    REQUIRE((slot - length) * 8 < slot);
    if (length <= 16) REQUIRE(slot == length);
    REQUIRE((size_class == 0 || slot_length(size_class - 1).count < length));
  }
}

TEST_CASE("a large program's many small blocks lie together in slabs", "[pool][heap]") {
  LargeProgram program;
  program.take(kSlab.count, kOne);  // the first slab full of them is the engine's
  CHECK(program.heap->statistics().slabs == 0);
  const std::vector<Taken> blocks = program.take(1000, kOne);
  const HeapStatistics now = program.heap->statistics();
  CHECK(now.slabs == 1);
  for (const Taken& block : blocks) CHECK(block.run.start.count / kSlab.count == blocks.front().run.start.count / kSlab.count);
  CHECK(now.blocks == 1 + kSlab.count + 1000);
  CHECK(program.heap->is_consistent());
}

TEST_CASE("a small program has no slabs", "[pool][heap]") {
  LargeProgram program;
  REQUIRE(program.heap->give_back(program.large));
  program.take(20000, kOne);
  CHECK(program.heap->statistics().slabs == 0);
}

TEST_CASE("a size of which there are few gets no slab", "[pool][heap]") {
  LargeProgram program;
  program.take(30, Granules{128});
  CHECK(program.heap->statistics().slabs == 0);
  program.take(30, Granules{128});
  CHECK(program.heap->statistics().slabs == 1);
}

TEST_CASE("an empty slab is kept while it may be needed again, and trim returns it", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  const Granules taken = program.heap->statistics().taken;
  program.give_back(program.take(1, Granules{128}));
  CHECK(program.heap->statistics().empty_slabs == 1);
  program.heap->trim();
  CHECK(program.heap->statistics().slabs == 0);
  CHECK(program.heap->statistics().taken == taken);
  CHECK(program.heap->is_consistent());
}

TEST_CASE("a slab that another can replace returns as soon as it is empty", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  const auto first = program.take(32, Granules{128});
  const auto second = program.take(32, Granules{128});
  REQUIRE(program.heap->statistics().slabs == 2);
  REQUIRE(program.heap->give_back(first.front()));  // so that the lower slab has room
  program.give_back(second);
  CHECK(program.heap->statistics().slabs == 1);
}

TEST_CASE("many slabs lie in whole handles, and a handle goes back when its last slab does", "[pool][heap]") {
  LargeProgram program;
  constexpr std::uint64_t kHandle = 16384;
  std::vector<Taken> blocks = program.take(32 * 24, Granules{128});
  REQUIRE(program.heap->statistics().slabs >= 20);
  const Run last = program.heap->segment_at(blocks.back().run.start).run;
  CHECK(last.length == Granules{kHandle});
  CHECK(last.start.count % kHandle == 0);
  program.give_back(blocks);
  program.heap->trim();
  CHECK(program.heap->statistics().slabs == 0);
  CHECK(program.heap->segment_at(last.start).state == State::free);
  CHECK(program.heap->is_consistent());
}

TEST_CASE("a slot is given back once, by its own place and length", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  const Taken slot = program.take(2, Granules{128}).front();
  REQUIRE(program.heap->statistics().slabs == 1);
  const std::vector<Taken> wrong{
      {Run{slot.run.start + kOne, slot.run.length}, slot.mark},
      {Run{slot.run.start, slot.run.length - kOne}, slot.mark},
      {Run{slot.run.start + slot.run.length + slot.run.length, slot.run.length}, slot.mark},  // a free slot
      {slot.run, slot.mark + 1},
      {slot.run, slot.mark & 0x7fffffff},
      {program.heap->segment_at(slot.run.start).run, slot.mark},
  };
  for (const Taken& each : wrong) CHECK(program.heap->give_back(each).error().code == Errc::not_taken);
  // Where the slab lies is not a block, whatever name the engine has for it.
  const Run region = program.heap->segment_at(slot.run.start).run;
  for (std::uint32_t mark = 0; mark < 100; ++mark) CHECK_FALSE(program.heap->give_back(Taken{region, mark}));
  REQUIRE(program.heap->give_back(slot));
  CHECK(program.heap->give_back(slot).error().code == Errc::not_taken);
}

TEST_CASE("an empty slab does not stand in the way of withdrawing its place", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  const Taken slot = program.take(1, Granules{128}).front();
  REQUIRE(program.heap->give_back(slot));
  REQUIRE(program.heap->statistics().empty_slabs == 1);
  const Run region = program.heap->segment_at(slot.run.start).run;
  CHECK(program.heap->shrink(region));
  CHECK(program.heap->statistics().slabs == 0);
}

TEST_CASE("when nothing else is left a small block takes a longer slot", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  program.take(1, Granules{128});
  REQUIRE(program.heap->statistics().slabs == 1);
  while (program.heap->take(program.heap->statistics().largest_free, kOne)) continue;
  const Result<Taken> small = program.heap->take(Granules{100}, kOne);
  REQUIRE(small);
  CHECK(small->run.length == Granules{128});
}

TEST_CASE("blocks of a slab keep the alignment asked for", "[pool][heap]") {
  LargeProgram program;
  program.take(32, Granules{128});
  const Taken slot = program.heap->take(Granules{128}, Granules{64}).value();
  CHECK((slot.mark >> 31) == 1);
  CHECK(slot.run.start.count % 64 == 0);
  const Taken wide = program.heap->take(Granules{128}, Granules{4096}).value();
  CHECK(wide.run.start.count % 4096 == 0);
}

}  // namespace cupool::pool
