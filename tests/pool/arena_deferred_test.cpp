// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>

#include "pool/arena.h"
#include "tests/pool/arena_fixture.h"

namespace cupool::pool {

using fakes::ArenaFixture;
using fakes::kTestHandle;
using fakes::kTestUnit;

namespace {

constexpr FreeAfter kAll{FreeAfter::Kind::all, {}};
constexpr StreamId kA{1}, kB{2};
constexpr FreeAfter on(StreamId stream) {
  return FreeAfter{FreeAfter::Kind::stream, stream};
}

Granted<Block> take_on(ArenaFixture& f, StreamId stream, Bytes size, FreeTicket last = kEveryFree) {
  const std::array orders{StreamOrder{stream, last}};
  return f.arena->take(Request{DeviceId{0}, size, {}, orders, {}});
}

}  // namespace

TEST_CASE("memory that work may still be using is not handed out before the work is done", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block first = f.must_take(kTestHandle);
  REQUIRE(f.arena->give_back(first.base, kAll));
  const Block second = f.must_take(kTestHandle);
  CHECK(second.base != first.base);
  f.completions.finish_all();
  CHECK(f.must_take(kTestHandle).base == first.base);
  CHECK(f.completions.waits() == 0);
}

TEST_CASE("deferred bytes are not live, but are not free either", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block block = f.must_take(f.mib(5));
  REQUIRE(f.arena->give_back(block.base, kAll));
  CHECK(f.arena->live() == Bytes{0});
  CHECK_FALSE(f.arena->find(block.base));
  CHECK(f.arena->stats().deferred == f.mib(5));
  CHECK(f.arena->stats().free == f.mib(3));
  CHECK(f.arena->stats().free_handles == 0);
}

TEST_CASE("many frees share one mark", "[pool][deferred]") {
  ArenaFixture f(8);
  std::vector<Block> blocks;
  for (int i = 0; i < 640; ++i) blocks.push_back(f.must_take(Bytes{512}));
  for (const Block& block : blocks) REQUIRE(f.arena->give_back(block.base, kAll));
  CHECK(f.completions.marks() == 10);
  f.completions.finish_all();
  f.arena->poll();
  CHECK(f.arena->stats().deferred_blocks == 0);
  CHECK(f.completions.open_tokens() == 0);
  CHECK(f.completions.faults() == 0);
}

TEST_CASE("a slow stream does not hold back the others", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block slow = f.must_take(kTestHandle);
  const Block fast = f.must_take(kTestHandle);
  REQUIRE(f.arena->give_back(slow.base, on(kA)));
  REQUIRE(f.arena->give_back(fast.base, on(kB)));
  f.arena->poll();
  f.completions.finish(kB);
  CHECK(f.must_take(kTestHandle).base == fast.base);
  CHECK(f.must_take(kTestHandle).base != slow.base);
  CHECK(f.arena->stats().deferred_blocks == 1);
}

TEST_CASE("the stream that freed may have the memory at once, whole or merged", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block first = f.must_take(kTestHandle);
  const Block second = f.must_take(kTestHandle);
  REQUIRE(f.arena->give_back(first.base, on(kA)));
  REQUIRE(f.arena->give_back(second.base, on(kA)));
  const auto both = take_on(f, kA, kTestHandle * 2);
  REQUIRE(both);
  CHECK(both->base == first.base);
  CHECK(f.completions.questions() == 0);
  CHECK(f.arena->stats().counters.reused_in_order == 1);
  CHECK(f.backing.created() == kTestHandle * 2);
}

TEST_CASE("another stream may have it only up to the free that it waited for", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block first = f.must_take(kTestHandle);
  const Block wall = f.must_take(kTestHandle);
  const Block second = f.must_take(kTestHandle);
  const FreeTicket ticket = f.arena->give_back(first.base, on(kA)).value().ticket;
  REQUIRE(f.arena->give_back(second.base, on(kA)));
  CHECK(take_on(f, kA, kTestHandle, ticket)->base == first.base);
  CHECK(take_on(f, kA, kTestHandle, ticket)->base != second.base);
  CHECK(take_on(f, kB, kTestHandle)->base != second.base);
  static_cast<void>(wall);
}

TEST_CASE("a block taken from a stream's memory and freed for good leaves no hazard", "[pool][deferred]") {
  ArenaFixture f(8);
  const Block first = f.must_take(kTestHandle);
  REQUIRE(f.arena->give_back(first.base, on(kA)));
  const Block again = take_on(f, kA, f.mib(4)).value();
  CHECK(again.base == first.base);
  REQUIRE(f.arena->give_back(again.base, {}));
  CHECK(f.arena->stats().deferred == f.mib(4));
  CHECK(f.must_take(f.mib(4)).base == first.base);
}

TEST_CASE("at the limit a request waits for the work it needs", "[pool][deferred]") {
  ArenaFixture f(1);
  const Block block = f.must_take(kTestUnit);
  REQUIRE(f.arena->give_back(block.base, kAll));
  CHECK(f.must_take(kTestUnit).base == block.base);
  CHECK(f.completions.waits() == 1);
  CHECK(f.arena->stats().counters.work_waits == 1);
  CHECK(f.completions.faults() == 0);
}

TEST_CASE("where waiting is not allowed the refusal says so, and nothing changes", "[pool][deferred]") {
  ArenaFixture f(1);
  const Block block = f.must_take(kTestUnit);
  REQUIRE(f.arena->give_back(block.base, kAll));
  const bool capturing = GENERATE(true, false);
  f.completions.set_capturing(capturing);
  f.completions.set_may_wait(false);
  const auto refused = f.take(kTestUnit);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().rule == Rule::waiting);
  CHECK(refused.error().code == Errc::busy);
  f.completions.set_capturing(false);
  f.completions.set_may_wait(true);
  CHECK(f.take(kTestUnit));
}

TEST_CASE("handles under pending work are neither moved nor released", "[pool][deferred]") {
  ArenaFixture f(2);
  f.completions.set_may_wait(false);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.must_take(kTestHandle));
  for (const std::size_t i : {0U, 2U, 4U, 6U}) REQUIRE(f.arena->give_back(blocks[i].base, on(kA)));
  CHECK(f.arena->stats().free_handles == 0);
  CHECK(f.arena->give_back_units(Units{1}) == Units{0});
  CHECK(f.take(kTestHandle * 2).error().rule == Rule::waiting);
  CHECK(f.backing.counts().unmap == 0);
  // The stream itself cannot have two either: they would have to be moved under its running work.
  CHECK_FALSE(take_on(f, kA, kTestHandle * 2));
  f.completions.finish(kA);
  CHECK(f.take(kTestHandle * 2));
  CHECK(f.arena->is_consistent());
}

TEST_CASE("small blocks freed in a stream's order keep away from other streams", "[pool][deferred]") {
  ArenaFixture f(64, true);
  const Block large = f.must_take(kTestUnit * 30);  // enough live for slabs
  std::vector<Block> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(f.must_take(Bytes{1024}));
  for (const Block& block : blocks) REQUIRE(f.arena->give_back(block.base, on(kA)));
  std::vector<Block> others;
  for (int i = 0; i < 300; ++i) {
    others.push_back(f.must_take(Bytes{1024}));
    for (const Block& block : blocks) REQUIRE(others.back().base != block.base);
  }
  CHECK(f.arena->is_consistent());
  static_cast<void>(large);
}

TEST_CASE("without anybody who knows streams every free is immediate", "[pool][deferred]") {
  ArenaFixture f(2);
  const auto arena = Arena::create(f.config, f.backing, f.units, nullptr).value();
  const Block block = arena->take(Request{DeviceId{0}, kTestHandle, {}, {}, {}}).value();
  CHECK(arena->give_back(block.base, kAll).value().ticket == FreeTicket{0});
  CHECK(arena->take(Request{DeviceId{0}, kTestHandle, {}, {}, {}})->base == block.base);
}

TEST_CASE("dropping forgets every mark once", "[pool][deferred]") {
  ArenaFixture f(8);
  for (int i = 0; i < 200; ++i) REQUIRE(f.arena->give_back(f.must_take(Bytes{512}).base, i % 2 == 0 ? kAll : on(kA)));
  f.arena->drop();
  CHECK(f.completions.open_tokens() == 0);
  CHECK(f.completions.faults() == 0);
}

}  // namespace cupool::pool
