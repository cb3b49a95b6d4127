// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/heap.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cupool::pool {
namespace {

constexpr Granules kOne{1};

std::unique_ptr<Heap> heap_of(std::uint64_t capacity, Engine engine = Engine::tlsf, bool slabs = false) {
  HeapConfig config;
  config.capacity = Granules{capacity};
  config.handle = Granules{16};
  config.engine = engine;
  config.slabs = slabs;
  return std::move(make_heap(config).value());
}

std::unique_ptr<Heap> full_grown(std::uint64_t capacity, Engine engine = Engine::tlsf) {
  auto heap = heap_of(capacity, engine);
  REQUIRE(heap->grow(Run{Granules{0}, Granules{capacity}}));
  return heap;
}

Taken taken_at(Heap& heap, std::uint64_t start, std::uint64_t length) {
  return heap.take_at(Run{Granules{start}, Granules{length}}).value();
}

}  // namespace

TEST_CASE("a heap that nothing was added to has no space", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = heap_of(64, engine, true);
  CHECK(heap->take(kOne, kOne).error().code == Errc::no_space);
  CHECK(heap->statistics().present == Granules{0});
  CHECK(heap->is_consistent());
}

TEST_CASE("the tightest hole is taken, and the lowest of several equally tight ones", "[pool][heap]") {
  auto heap = full_grown(64);
  taken_at(*heap, 0, 8);
  taken_at(*heap, 14, 2);   // a hole of 6 at 8
  taken_at(*heap, 20, 4);   // a hole of 4 at 16
  taken_at(*heap, 28, 36);  // a hole of 4 at 24
  CHECK(heap->take(Granules{4}, kOne)->run.start == Granules{16});
  CHECK(heap->take(Granules{4}, kOne)->run.start == Granules{24});
  CHECK(heap->take(Granules{4}, kOne)->run.start == Granules{8});
}

TEST_CASE("giving a run back twice is refused and changes nothing", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = full_grown(64, engine);
  const Taken taken = heap->take(Granules{4}, kOne).value();
  REQUIRE(heap->give_back(taken));
  CHECK(heap->give_back(taken).error().code == Errc::not_taken);
  CHECK(heap->statistics().free == Granules{64});
  CHECK(heap->is_consistent());
}

TEST_CASE("foreign and interior runs, wrong lengths and made-up marks are refused", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = full_grown(64, engine);
  const Taken taken = heap->take(Granules{8}, kOne).value();
  const std::vector<Taken> wrong{
      {Run{taken.run.start + kOne, Granules{7}}, taken.mark},
      {Run{taken.run.start, Granules{4}}, taken.mark},
      {Run{Granules{40}, Granules{8}}, taken.mark},
      {taken.run, taken.mark + 1},
      {taken.run, 0xffffffff},
      {taken.run, 1000000},
  };
  for (const Taken& each : wrong) CHECK(heap->give_back(each).error().code == Errc::not_taken);
  CHECK(heap->statistics().taken == Granules{8});
  CHECK(heap->give_back(taken));
}

TEST_CASE("free neighbours merge across what was grown separately", "[pool][heap]") {
  auto heap = heap_of(64);
  REQUIRE(heap->grow(Run{Granules{32}, Granules{16}}));
  REQUIRE(heap->grow(Run{Granules{0}, Granules{16}}));
  CHECK(heap->take(Granules{20}, kOne).error().code == Errc::no_space);
  REQUIRE(heap->grow(Run{Granules{16}, Granules{16}}));
  CHECK(heap->statistics().free_runs == 1);
  CHECK(heap->take(Granules{48}, kOne)->run == Run{Granules{0}, Granules{48}});
}

TEST_CASE("only what is absent can be added", "[pool][heap]") {
  auto heap = heap_of(64);
  REQUIRE(heap->grow(Run{Granules{16}, Granules{16}}));
  CHECK(heap->grow(Run{Granules{0}, Granules{17}}).error().code == Errc::exists);
  CHECK(heap->grow(Run{Granules{20}, Granules{2}}).error().code == Errc::exists);
  CHECK(heap->grow(Run{Granules{60}, Granules{8}}).error().code == Errc::invalid_argument);
  CHECK(heap->statistics().present == Granules{16});
}

TEST_CASE("only what is free from end to end can be withdrawn", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = full_grown(64, engine);
  taken_at(*heap, 20, 4);
  CHECK(heap->shrink(Run{Granules{16}, Granules{16}}).error().code == Errc::busy);
  REQUIRE(heap->shrink(Run{Granules{32}, Granules{16}}));
  CHECK(heap->shrink(Run{Granules{40}, Granules{16}}).error().code == Errc::not_found);
  CHECK(heap->statistics().present == Granules{48});
  CHECK(heap->take(Granules{21}, kOne).error().code == Errc::no_space);
  REQUIRE(heap->grow(Run{Granules{32}, Granules{16}}));
  CHECK(heap->take(Granules{21}, kOne));
  CHECK(heap->is_consistent());
}

TEST_CASE("a request is placed where the fewest handles are missing", "[pool][heap]") {
  auto heap = heap_of(160);
  for (std::uint64_t handle : {0, 2, 3, 5, 7, 8}) REQUIRE(heap->grow(Run{Granules{handle * 16}, Granules{16}}));
  taken_at(*heap, 0, 4);
  taken_at(*heap, 7 * 16 + 8, 24);  // the second half of handle 7, and 8
  // [4, 120) is one gap in which the handles 1, 4 and 6 are missing.
  const Placement one = heap->place(Granules{40}, kOne, 10).value();
  CHECK(one.run.start == Granules{4});
  CHECK(one.missing == 1);
  CHECK(one.free_handles == 1);  // handle 2 lies under it; handle 0 is partly taken
  CHECK(heap->place(Granules{100}, kOne, 10)->missing == 3);
  // Two missing and three that lie free under the run (2, 3, 5): five handles must be to hand.
  CHECK(heap->place(Granules{100}, kOne, 4).error().code == Errc::no_space);
  CHECK(heap->place(Granules{200}, kOne, 100).error().code == Errc::no_space);
}

TEST_CASE("a request between powers of two leaves the tail of its buddy block free", "[pool][heap]") {
  auto heap = full_grown(32, Engine::buddy);
  const Taken twenty = heap->take(Granules{20}, kOne).value();
  CHECK(heap->statistics().free == Granules{12});
  CHECK(heap->take(Granules{8}, kOne)->run.start == Granules{24});
  CHECK(heap->take(Granules{4}, kOne)->run.start == Granules{20});
  REQUIRE(heap->give_back(twenty));
  CHECK(heap->statistics().largest_free == Granules{16});
  CHECK(heap->is_consistent());
}

TEST_CASE("free handles are counted as they come and go", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = full_grown(64, engine);
  CHECK(heap->statistics().free_handles == 4);
  const Taken across = taken_at(*heap, 15, 2);
  CHECK(heap->statistics().free_handles == 2);
  REQUIRE(heap->give_back(across));
  CHECK(heap->statistics().free_handles == 4);
}

TEST_CASE("a hole that fits is found behind many in the same bin that do not", "[pool][heap]") {
  auto heap = full_grown(200000);
  // 1008 to 1023 granules share a bin. The one that fits is freed first, so all others lie before it.
  const Taken fitting = heap->take(Granules{1020}, kOne).value();
  heap->take(kOne, kOne).value();
  std::vector<Taken> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(heap->take(Granules{1008}, kOne).value());
    heap->take(kOne, kOne).value();
  }
  while (heap->take(heap->statistics().largest_free, kOne)) continue;
  REQUIRE(heap->give_back(fitting));
  for (const Taken& other : others) REQUIRE(heap->give_back(other));
  CHECK(heap->take(Granules{1021}, kOne).error().code == Errc::no_space);
  CHECK(heap->take(Granules{1015}, kOne)->run.start == fitting.run.start);
}

TEST_CASE("an aligned request finds the one hole in which it fits, however long the others are", "[pool][heap]") {
  auto heap = full_grown(1 << 17);
  // Holes of 100 that miss a multiple of 64 with 64 granules behind it by one, and one that does not.
  std::vector<Taken> holes;
  for (std::uint64_t at = 0; at < 100; ++at) holes.push_back(taken_at(*heap, at * 256 + 1, 100));
  const Taken good = taken_at(*heap, 200 * 256, 100);
  std::vector<Run> rest;
  REQUIRE(heap->list_free(kOne, rest));
  for (const Run& run : rest) REQUIRE(heap->take_at(run));
  REQUIRE(heap->give_back(good));
  for (const Taken& hole : holes) REQUIRE(heap->give_back(hole));
  CHECK(heap->take(Granules{64}, Granules{64})->run.start == good.run.start);
  CHECK(heap->take(Granules{64}, Granules{64}).error().code == Errc::no_space);
}

TEST_CASE("16 TiB of 512-byte granules can be carved", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = heap_of(kMaxCapacity.count, engine, true);
  REQUIRE(heap->grow(Run{Granules{0}, kMaxCapacity}));
  const Taken half = heap->take(Granules{kMaxCapacity.count / 2 + 1}, kOne).value();
  const Taken top = taken_at(*heap, kMaxCapacity.count - 1, 1);
  CHECK(heap->take(Granules{kMaxCapacity.count / 2}, kOne).error().code == Errc::no_space);
  REQUIRE(heap->give_back(half));
  REQUIRE(heap->give_back(top));
  CHECK(heap->take(kMaxCapacity, kOne));
  CHECK(heap->statistics().metadata_bytes < (std::uint64_t{64} << 20));  // also with handles as small as here
}

TEST_CASE("requests that make no sense are refused as such", "[pool][heap]") {
  const Engine engine = GENERATE(Engine::tlsf, Engine::buddy);
  auto heap = heap_of(64, engine, true);
  CHECK(heap->take(Granules{0}, kOne).error().code == Errc::invalid_argument);
  CHECK(heap->take(kOne, Granules{0}).error().code == Errc::invalid_argument);
  CHECK(heap->take(kOne, Granules{3}).error().code == Errc::invalid_argument);
  CHECK(heap->take(Granules{65}, kOne).error().code == Errc::no_space);
  CHECK(heap->take(Granules{UINT64_MAX}, kOne).error().code == Errc::no_space);
  CHECK(heap->take_at(Run{Granules{UINT64_MAX}, Granules{2}}).error().code == Errc::invalid_argument);
  CHECK(heap->give_back(Taken{}).error().code == Errc::not_taken);
}

}  // namespace cupool::pool
