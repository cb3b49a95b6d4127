// SPDX-License-Identifier: Apache-2.0
#include "pool/arena.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/pool/arena_fixture.h"

namespace cupool::pool {

using fakes::ArenaFixture;
using fakes::kTestHandle;
using fakes::kTestUnit;

TEST_CASE("the first block leases one unit and maps only the handles it needs", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(f.mib(10));
  CHECK(block.base == f.arena->base());
  CHECK(block.given == f.mib(10));
  CHECK(f.units.leased() == Units{1});
  CHECK(f.backing.created() == kTestHandle * 2);
  CHECK(f.backing.is_mapped(block.base, block.given));
  CHECK(f.arena->is_consistent());
}

TEST_CASE("blocks cross handle and unit borders and may be as large as the limit", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(kTestUnit * 4);
  CHECK(f.backing.is_mapped(block.base, block.given));
  CHECK(f.units.leased() == Units{4});
  CHECK(f.take(f.mib(1)).error().rule == Rule::job_limit);
  REQUIRE(f.arena->give_back(block.base, {}));
  const Block first = f.must_take(f.mib(20));
  const Block second = f.must_take(f.mib(30));
  CHECK(second.base == first.base + first.given);
  CHECK(f.arena->is_consistent());
}

TEST_CASE("more than the limit is refused at once, with the rule and the figures", "[pool][arena]") {
  ArenaFixture f(2);
  const auto calls = f.backing.counts().total();
  const auto refused = f.take(kTestUnit * 2 + Bytes{1});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::over_limit);
  CHECK(refused.error().rule == Rule::job_limit);
  CHECK(refused.error().limit == kTestUnit * 2);
  CHECK(refused.error().asked == kTestUnit * 2 + Bytes{1});
  CHECK(f.backing.counts().total() == calls);
}

TEST_CASE("requests that make no sense are refused", "[pool][arena]") {
  ArenaFixture f(2);
  CHECK(f.take(Bytes{0}).error().rule == Rule::bad_request);
  CHECK(f.arena->take(Request{DeviceId{0}, Bytes{512}, Bytes{768}, {}, {}}).error().rule == Rule::bad_request);
  CHECK(f.arena->take(Request{DeviceId{0}, Bytes{512}, Bytes{std::uint64_t{1} << 40}, {}, {}}).error().code == Errc::unsupported);
  CHECK(f.take(Bytes{~std::uint64_t{0}}).error().code == Errc::over_limit);
}

TEST_CASE("alignment is honoured", "[pool][arena]") {
  ArenaFixture f(4);
  f.must_take(Bytes{512});
  for (const std::uint64_t alignment : {512ULL, 4096ULL, 2ULL << 20, 8ULL << 20, 32ULL << 20}) {
    const auto block = f.arena->take(Request{DeviceId{0}, Bytes{700}, Bytes{alignment}, {}, {}});
    REQUIRE(block);
    CHECK(block->base.value % alignment == 0);
    CHECK(block->given == Bytes{1024});
  }
}

TEST_CASE("a raised alignment holds for every block", "[pool][arena]") {
  ArenaFixture f(4);
  f.config.alignment = kMiB * 2;
  f.config.slabs = true;
  const auto arena = Arena::create(f.config, f.backing, f.units, nullptr).value();
  for (const std::uint64_t size : {1ULL, 700ULL, 3ULL << 20, 100000ULL}) {
    const auto block = arena->take(Request{DeviceId{0}, Bytes{size}, {}, {}, {}});
    REQUIRE(block);
    CHECK(block->base.value % (2 << 20) == 0);
  }
  CHECK(arena->is_consistent());
}

TEST_CASE("only the address of a live block can be freed, and once", "[pool][arena]") {
  ArenaFixture f(2);
  const Block block = f.must_take(f.mib(3));
  CHECK(f.arena->give_back(block.base + Bytes{512}, {}).error().code == Errc::not_taken);
  CHECK(f.arena->give_back(Address{4096}, {}).error().code == Errc::not_taken);
  CHECK(f.arena->give_back(block.base, {}).value().block.identity == block.identity);
  CHECK(f.arena->give_back(block.base, {}).error().code == Errc::not_taken);
  CHECK(f.arena->is_consistent());
}

TEST_CASE("an address used again belongs to a new identity", "[pool][arena]") {
  ArenaFixture f(2);
  const Block first = f.must_take(f.mib(3));
  REQUIRE(f.arena->give_back(first.base, {}));
  const Block second = f.must_take(f.mib(3));
  CHECK(second.base == first.base);
  CHECK(second.identity != first.identity);
  CHECK(f.arena->find(second.base + Bytes{12345})->identity == second.identity);
}

TEST_CASE("a steady loop makes no driver call", "[pool][arena]") {
  ArenaFixture f(8, true);
  std::uint64_t after_first = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Block> blocks;
    for (const std::uint64_t size : {40ULL << 20, 3000ULL, 17ULL << 20, 512ULL, 90ULL << 20, 2ULL << 20}) {
      blocks.push_back(f.must_take(Bytes{size}));
    }
    for (const Block& block : blocks) REQUIRE(f.arena->give_back(block.base, FreeAfter{}));
    f.arena->settle();
    if (round == 0) after_first = f.backing.counts().total();
  }
  CHECK(f.backing.counts().total() == after_first);
}

TEST_CASE("at the limit free handles are moved to where a request needs them", "[pool][arena]") {
  ArenaFixture f(2);  // 8 handles
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.must_take(kTestHandle));
  for (int i = 0; i < 8; i += 2) REQUIRE(f.arena->give_back(blocks[static_cast<std::size_t>(i)].base, {}));
  const auto creates = f.backing.counts().create;
  const auto big = f.take(kTestHandle * 4);
  REQUIRE(big);
  CHECK(f.backing.is_mapped(big->base, big->given));
  for (int i = 1; i < 8; i += 2) CHECK(f.backing.is_mapped(blocks[static_cast<std::size_t>(i)].base, kTestHandle));
  CHECK(f.backing.counts().create == creates);
  CHECK(f.arena->stats().counters.handles_moved == 4);
  CHECK(f.units.leased() == Units{2});
  CHECK(f.arena->is_consistent());
  CHECK(f.backing.faults() == 0);
}

TEST_CASE("a block goes where the fewest handles are missing", "[pool][arena]") {
  ArenaFixture f(2);
  const Block low = f.must_take(kTestHandle);
  const Block hole = f.must_take(kTestHandle);
  const Block wall = f.must_take(kTestHandle);
  const Block high = f.must_take(kTestHandle * 5);
  REQUIRE(f.arena->give_back(high.base, {}));
  REQUIRE(f.arena->give_back(hole.base, {}));
  const Block all = f.must_take(kTestHandle * 6);  // five are there, the sixth moves from the hole
  CHECK(all.base == high.base);
  CHECK(f.arena->stats().counters.handles_moved == 1);
  CHECK(low.base < wall.base);
}

TEST_CASE("free bytes in pieces smaller than a handle are told apart from a full limit", "[pool][arena]") {
  ArenaFixture f(1);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.must_take(f.mib(4)));
  for (std::size_t i = 0; i < 8; i += 2) REQUIRE(f.arena->give_back(blocks[i].base, {}));
  const auto refused = f.take(f.mib(8));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().rule == Rule::fragmented);
  CHECK(refused.error().free == f.mib(16));
  CHECK(refused.error().largest_free == f.mib(4));
  CHECK(f.arena->stats().fragmentation() == Approx(0.75));
}

TEST_CASE("a unit goes back as soon as a unit's worth of handles is free, wherever they lie", "[pool][arena]") {
  ArenaFixture f(4);
  std::vector<Block> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(f.must_take(kTestHandle));
  for (const std::size_t i : {1U, 4U, 11U}) REQUIRE(f.arena->give_back(blocks[i].base, {}));
  CHECK(f.arena->stats().empty_units == Units{0});
  CHECK(f.arena->give_back_units(Units{1}) == Units{0});
  CHECK(f.backing.counts().unmap == 0);
  REQUIRE(f.arena->give_back(blocks[14].base, {}));
  CHECK(f.arena->stats().empty_units == Units{1});
  CHECK(f.arena->give_back_units(Units{3}) == Units{1});
  CHECK(f.units.leased() == Units{3});
  CHECK(f.backing.created() == kTestUnit * 3);
  for (const std::size_t i : {0U, 2U, 15U}) CHECK(f.backing.is_mapped(blocks[i].base, kTestHandle));
  CHECK(f.arena->is_consistent());
  // The holes in the range are filled again, lowest first.
  CHECK(f.must_take(kTestHandle).base == blocks[1].base);
}

TEST_CASE("neighbouring handles leave in one call", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(kTestUnit * 4);
  REQUIRE(f.arena->give_back(block.base, {}));
  CHECK(f.arena->give_back_units(Units{4}) == Units{4});
  CHECK(f.backing.counts().unmap == 1);
  CHECK(f.backing.created() == Bytes{0});
  CHECK(f.units.leased() == Units{0});
}

TEST_CASE("what is unused for two periods goes back by halves, down to what is kept", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(kTestUnit * 4);
  const Block low = f.arena->find(block.base).value();
  REQUIRE(f.arena->give_back(low.base, {}));
  CHECK(f.arena->settle() == Units{0});
  CHECK(f.arena->settle() == Units{0});
  CHECK(f.arena->settle() == Units{2});  // 16 cold handles: 8 go
  CHECK(f.arena->settle() == Units{1});
  f.must_take(kTestHandle);
  for (int i = 0; i < 8; ++i) f.arena->settle();
  CHECK(f.units.leased() == Units{1});
  CHECK(f.backing.created() == kTestHandle);
}

TEST_CASE("a handle that a peer holds is neither moved nor released until it is let go", "[pool][arena]") {
  ArenaFixture f(2);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.must_take(kTestHandle));
  const auto held = f.arena->hold(blocks[2].base).value();
  REQUIRE(held.size() == 1);
  CHECK(held[0].at == blocks[2].base);
  CHECK(held[0].handle == f.backing.handle_at(blocks[2].base));
  for (const std::size_t i : {2U, 4U, 6U, 7U}) REQUIRE(f.arena->give_back(blocks[i].base, {}));
  CHECK(f.arena->stats().free_handles == 3);
  CHECK_FALSE(f.take(kTestHandle * 4));
  CHECK(f.arena->give_back_units(Units{1}) == Units{0});
  CHECK(f.backing.handle_at(blocks[2].base) == held[0].handle);
  // Our own process may use it meanwhile.
  const Block again = f.must_take(kTestHandle);
  REQUIRE(f.arena->give_back(again.base, {}));
  REQUIRE(f.arena->let_go(held[0]));
  CHECK(f.arena->let_go(held[0]).error().code == Errc::not_taken);
  CHECK(f.take(kTestHandle * 4));
}

TEST_CASE("when the driver has no memory although the limit allows it, free handles are moved", "[pool][arena]") {
  ArenaFixture f(4);
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(f.must_take(kTestHandle));
  f.backing.set_capacity(kTestHandle * 8);
  for (const std::size_t i : {0U, 3U}) REQUIRE(f.arena->give_back(blocks[i].base, {}));
  CHECK(f.take(kTestHandle * 2));
  const auto refused = f.take(kTestHandle);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().rule == Rule::device_full);
  CHECK(refused.error().code == Errc::no_memory);
  CHECK(f.units.leased() == Units{2});
  CHECK(f.arena->is_consistent());
}

TEST_CASE("address space stays bounded under churn at the limit", "[pool][arena]") {
  ArenaFixture f(8);
  std::vector<Block> blocks;
  std::uint64_t random = 12345;
  for (int i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t dice = random >> 33;
    if (dice % 2 == 0 && !blocks.empty()) {
      std::swap(blocks[dice / 2 % blocks.size()], blocks.back());
      REQUIRE(f.arena->give_back(blocks.back().base, {}));
      blocks.pop_back();
    } else if (const auto block = f.take(Bytes{(1 + dice / 2 % 60) << 20})) {
      blocks.push_back(*block);
    }
  }
  CHECK(f.arena->stats().address_span.count <= kTestUnit.count * 8 * 4);
  CHECK(f.arena->is_consistent());
  CHECK(f.backing.faults() == 0);
}

TEST_CASE("the figures of a snapshot add up", "[pool][arena]") {
  ArenaFixture f(4);
  const Block a = f.must_take(Bytes{1000});
  const Block b = f.must_take(f.mib(11));
  const Block c = f.must_take(f.mib(3));
  REQUIRE(f.arena->give_back(b.base, FreeAfter{FreeAfter::Kind::all, {}}));
  const ArenaStats stats = f.arena->stats();
  CHECK(stats.live == a.given + c.given);
  CHECK(stats.live_asked == Bytes{1000} + f.mib(3));
  CHECK(stats.waste() == Bytes{24});
  CHECK(stats.deferred == f.mib(11));
  CHECK(stats.live + stats.deferred + stats.in_transit + stats.free == stats.mapped);
  CHECK(stats.mapped == kTestHandle * 2);
  CHECK(stats.leased == kTestUnit);
  CHECK(stats.peak_live == a.given + b.given + c.given);
  CHECK(stats.live_blocks == 2);
  CHECK(stats.deferred_blocks == 1);
  CHECK(stats.counters.takes == 3);
  CHECK(stats.counters.gives == 1);
  CHECK(stats.asked.count[10] == 1);  // 1000 lies in [512, 1024)
}

TEST_CASE("closing gives everything back, but not under live blocks", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(f.mib(100));
  CHECK(f.arena->close().error().code == Errc::busy);
  REQUIRE(f.arena->give_back(block.base, FreeAfter{FreeAfter::Kind::all, {}}));
  REQUIRE(f.arena->close());
  CHECK(f.backing.is_empty());
  CHECK(f.units.leased() == Units{0});
  CHECK(f.completions.open_tokens() == 0);
  CHECK_FALSE(f.take(f.mib(1)));
}

TEST_CASE("dropping makes no backing call, returns the units and ends service", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(f.mib(100));
  const auto calls = f.backing.counts().total();
  f.arena->drop();
  CHECK(f.backing.counts().total() == calls);
  CHECK(f.units.leased() == Units{0});
  CHECK_FALSE(f.arena->find(block.base));
  CHECK(f.arena->give_back(block.base, {}).error().code == Errc::not_taken);
  CHECK_FALSE(f.take(f.mib(1)));
}

TEST_CASE("a limit lowered below what is leased refuses until enough went back", "[pool][arena]") {
  ArenaFixture f(4);
  const Block block = f.must_take(kTestUnit * 3);
  f.units.set_limit(Units{2});
  CHECK(f.units.wanted() == Units{1});
  CHECK_FALSE(f.take(kTestHandle * 2));
  REQUIRE(f.arena->give_back(block.base, {}));
  CHECK(f.arena->give_back_units(f.units.wanted()) == Units{1});
  CHECK(f.take(kTestUnit * 2));
  CHECK_FALSE(f.take(Bytes{512}));
}

}  // namespace cupool::pool
