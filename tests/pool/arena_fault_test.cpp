// SPDX-License-Identifier: Apache-2.0
//
// For each operation that calls the backing, and each k: the k-th call fails, once or from then on. Nothing may be lost.
#include <catch2/catch.hpp>
#include <functional>

#include "pool/arena.h"
#include "tests/pool/arena_fixture.h"

namespace cupool::pool {

using fakes::ArenaFixture;
using fakes::FailingBacking;
using fakes::kTestHandle;
using fakes::kTestUnit;

namespace {

struct Scenario {
  const char* name;
  std::uint64_t limit;
  std::function<void(ArenaFixture&)> prepare;
  std::function<bool(ArenaFixture&)> act;  ///< true: it did all it should
};

void every_second(ArenaFixture& f, int handles) {
  std::vector<Block> blocks;
  for (int i = 0; i < handles; ++i) blocks.push_back(f.must_take(kTestHandle));
  for (std::size_t i = 0; i < blocks.size(); i += 2) REQUIRE(f.arena->give_back(blocks[i].base, {}));
}

std::vector<Scenario> scenarios() {
  return {
      {"the first block", 4, [](ArenaFixture&) {}, [](ArenaFixture& f) { return f.take(f.mib(10)).has_value(); }},
      {"a block of three units", 4, [](ArenaFixture& f) { f.must_take(f.mib(1)); },
       [](ArenaFixture& f) { return f.take(kTestUnit * 3).has_value(); }},
      {"a block over a hole in the range", 4,
       [](ArenaFixture& f) {
         every_second(f, 12);
         f.arena->give_back_units(Units{4});
       },
       [](ArenaFixture& f) { return f.take(kTestHandle * 3).has_value(); }},
      {"moving at the limit", 3, [](ArenaFixture& f) { every_second(f, 12); },
       [](ArenaFixture& f) { return f.take(kTestHandle * 6).has_value(); }},
      {"creating some and moving some", 3, [](ArenaFixture& f) { every_second(f, 10); },
       [](ArenaFixture& f) { return f.take(kTestHandle * 6).has_value(); }},
      {"giving two units back", 4, [](ArenaFixture& f) { every_second(f, 16); },
       [](ArenaFixture& f) { return f.arena->give_back_units(Units{2}) == Units{2}; }},
      {"settling", 4,
       [](ArenaFixture& f) {
         every_second(f, 16);
         f.arena->settle();
         f.arena->settle();
       },
       [](ArenaFixture& f) { return f.arena->settle() == Units{1}; }},
  };
}

struct Books {
  Bytes live, free, mapped, created, leased;
  std::uint64_t blocks, free_handles;
  bool operator==(const Books&) const = default;
};

Books books_of(const ArenaFixture& f) {
  const ArenaStats stats = f.arena->stats();
  return Books{stats.live, stats.free, stats.mapped, stats.created, stats.leased, stats.live_blocks, stats.free_handles};
}

void require_sound(const ArenaFixture& f) {
  REQUIRE(f.arena->is_consistent());
  REQUIRE(f.backing.faults() == 0);
  const ArenaStats stats = f.arena->stats();
  REQUIRE(f.backing.created() == stats.created);
  REQUIRE(f.backing.mapped() == stats.mapped);
  REQUIRE(f.units.leased() == stats.leased_units);
  f.arena->for_each_block([&](const Block& block) {
    if (!f.backing.is_mapped(block.base, block.given)) FAIL("a live block is not backed");
  });
}

std::uint64_t calls_of(const Scenario& scenario) {
  ArenaFixture f(scenario.limit);
  scenario.prepare(f);
  const auto before = f.backing.counts().total();
  REQUIRE(scenario.act(f));
  return f.backing.counts().total() - before;
}

}  // namespace

TEST_CASE("when the k-th call fails once, a request leaves the arena as it was, for every k", "[pool][fault]") {
  std::uint64_t injected = 0;
  for (const Scenario& scenario : scenarios()) {
    const std::uint64_t calls = calls_of(scenario);
    REQUIRE(calls > 0);
    for (const Errc code : {Errc::driver, Errc::no_memory}) {
      for (std::uint64_t k = 1; k <= calls; ++k) {
        CAPTURE(scenario.name, k, static_cast<int>(code));
        ArenaFixture f(scenario.limit);
        scenario.prepare(f);
        const Books before = books_of(f);
        f.failing.fail_call(k, code);
        const bool done = scenario.act(f);
        REQUIRE(f.failing.has_failed());
        ++injected;
        require_sound(f);
        // Giving back is not all or nothing: what went before the failure is gone. A request is.
        const bool is_request =
            std::string(scenario.name).find("giv") == std::string::npos && std::string(scenario.name) != "settling";
        if (!done && is_request) REQUIRE(books_of(f) == before);
        f.failing.fail_call(0);
        if (!done && is_request) REQUIRE(scenario.act(f));
        require_sound(f);
      }
    }
  }
  CHECK(injected > 80);
}

TEST_CASE("when all calls from the k-th on fail, nothing is lost and service resumes with the backing", "[pool][fault]") {
  for (const Scenario& scenario : scenarios()) {
    const std::uint64_t calls = calls_of(scenario);
    for (std::uint64_t k = 1; k <= calls; ++k) {
      CAPTURE(scenario.name, k);
      ArenaFixture f(scenario.limit);
      scenario.prepare(f);
      const Books before = books_of(f);
      f.failing.fail_call(k, Errc::driver, FailingBacking::Repeat::from_then_on);
      static_cast<void>(scenario.act(f));
      require_sound(f);
      REQUIRE(f.arena->live() == before.live);
      f.failing.fail_call(0);
      // Everything that was free can be had or returned again.
      std::vector<Block> blocks;
      f.arena->for_each_block([&](const Block& block) { blocks.push_back(block); });
      for (const Block& block : blocks) REQUIRE(f.arena->give_back(block.base, {}));
      const auto all = f.take(kTestUnit * scenario.limit);
      REQUIRE(all);
      require_sound(f);
      REQUIRE(f.arena->give_back(all->base, {}));
      REQUIRE(f.arena->close());
      REQUIRE(f.backing.is_empty());
      REQUIRE(f.units.leased() == Units{0});
    }
  }
}

TEST_CASE("a range that cannot be reserved leaves nothing behind", "[pool][fault]") {
  ArenaFixture f(1);
  f.failing.fail_call(1, Errc::no_space);
  const auto calls = f.backing.counts().total();
  CHECK(Arena::create(f.config, f.failing, f.units, nullptr).error().code == Errc::no_space);
  CHECK(f.backing.counts().total() == calls);
}

TEST_CASE("no lock of the pool is held over a backing call, and others go on meanwhile", "[pool][fault]") {
  ArenaFixture f(4);
  const Block small = f.must_take(f.mib(1));
  int calls = 0;
  bool free_lock = true;
  bool nested = false;
  f.failing.set_hook([&] {
    if (nested) return;
    nested = true;
    ++calls;
    free_lock = free_lock && holds_no_lock();
    // What another thread could do now, this one does: a hole is found and freed, figures are read.
    const Block other = f.must_take(f.mib(1));
    CHECK(f.arena->find(small.base));
    CHECK(f.arena->is_consistent());
    CHECK(f.arena->give_back(other.base, {}));
    nested = false;
  });
  f.must_take(f.mib(60));
  f.failing.set_hook({});
  CHECK(calls > 5);
  CHECK(free_lock);
  CHECK(f.arena->is_consistent());
}

}  // namespace cupool::pool
