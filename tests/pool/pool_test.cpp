// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/support/fake_backing.h"
#include "tests/support/fake_completions.h"

namespace cupool::pool {
namespace {

constexpr Bytes kHandle{8 * kMiB.count};
constexpr Bytes kUnit{128 * kMiB.count};
constexpr DeviceId kFirst{0}, kSecond{3};
constexpr FreeAfter kAll{FreeAfter::Kind::all, {}};

struct Fixture {
  explicit Fixture(std::uint64_t limit = 8) : units(Units{limit}), other_units(Units{2}) {
    DeviceSettings settings;
    settings.arena.shape = UnitShape{kUnit, kHandle};
    settings.arena.range = kUnit * 64;
    settings.total = kGiB * 16;
    REQUIRE(pool.add_device(kFirst, settings, DeviceParts{backing, units, &completions}));
    REQUIRE(pool.add_device(kSecond, settings, DeviceParts{other_backing, other_units, nullptr}));
  }
  Granted<Block> allocate(Bytes size, DeviceId device = kFirst) { return pool.allocate(Request{device, size, {}, {}, {}}); }

  fakes::CountingBacking backing, other_backing;
  LimitedUnits units, other_units;
  fakes::FakeCompletions completions;
  Pool pool;
};

}  // namespace

TEST_CASE("a device costs nothing before its first allocation", "[pool][facade]") {
  Fixture f;
  CHECK(f.backing.counts().total() == 0);
  CHECK(f.pool.view(kFirst)->total == kUnit * 8);
  CHECK(f.pool.view(kFirst)->free == kUnit * 8);
  CHECK(f.pool.stats(kFirst)->arena.leased == Bytes{0});
}

TEST_CASE("a device that is not known, or twice, is refused", "[pool][facade]") {
  Fixture f;
  CHECK(f.allocate(Bytes{512}, DeviceId{1}).error().rule == Rule::bad_request);
  CHECK(f.allocate(Bytes{512}, DeviceId{99}).error().rule == Rule::bad_request);
  CHECK(f.pool.view(DeviceId{1}).error().code == Errc::not_found);
  DeviceSettings settings;
  CHECK(f.pool.add_device(DeviceId{1}, settings, DeviceParts{f.backing, f.units}).error().code == Errc::invalid_argument);
  settings.arena.range = kUnit;
  settings.total = kUnit;
  CHECK(f.pool.add_device(kFirst, settings, DeviceParts{f.backing, f.units}).error().code == Errc::exists);
}

TEST_CASE("a block is found by any of its addresses, with its device", "[pool][facade]") {
  Fixture f;
  const Block one = f.allocate(Bytes{1000}).value();
  const Block two = f.allocate(kHandle * 3, kSecond).value();
  CHECK(f.pool.query(one.base + Bytes{999})->block.identity == one.identity);
  CHECK(f.pool.query(two.base + kHandle)->block.device == kSecond);
  CHECK_FALSE(f.pool.query(two.base + kHandle)->beside);
  CHECK_FALSE(f.pool.query(one.base + Bytes{1024}));
  CHECK_FALSE(f.pool.query(Address{0}));
  CHECK(f.pool.free(one.base + Bytes{512}, kAll).error().code == Errc::not_taken);
  CHECK(f.pool.free(Address{12345 * 512}, kAll).error().code == Errc::not_taken);
  CHECK(f.pool.free(one.base, kAll)->block.identity == one.identity);
  CHECK_FALSE(f.pool.query(one.base));
  CHECK(f.pool.free(one.base, kAll).error().code == Errc::not_taken);
}

TEST_CASE("the job sees its own use, in steps of 2 MiB, and frees at once", "[pool][facade]") {
  Fixture f;
  const Block block = f.allocate(Bytes{512}).value();
  CHECK(f.pool.view(kFirst)->free == kUnit * 8 - kMiB * 2);
  const Block more = f.allocate(kMiB * 3).value();
  CHECK(f.pool.view(kFirst)->free == kUnit * 8 - kMiB * 4);
  REQUIRE(f.pool.free(more.base, kAll));
  CHECK(f.pool.view(kFirst)->free == kUnit * 8 - kMiB * 2);
  REQUIRE(f.pool.free(block.base, kAll));
  CHECK(f.pool.view(kFirst)->free == kUnit * 8);
}

TEST_CASE("total is the least of limit and device", "[pool][facade]") {
  Fixture f(1000);
  CHECK(f.pool.view(kFirst)->total == kGiB * 16);
}

TEST_CASE("what is beside the pool takes whole units of the same limit", "[pool][facade]") {
  Fixture f(4);
  REQUIRE(f.pool.charge(kFirst, BesideKind::array, kMiB * 10));
  REQUIRE(f.pool.charge(kFirst, BesideKind::managed, kMiB * 100));
  CHECK(f.units.leased() == Units{1});
  CHECK(f.pool.view(kFirst)->free == kUnit * 4 - kMiB * 110);
  CHECK(f.allocate(kUnit * 3));
  const auto refused = f.allocate(kHandle);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().beside == kMiB * 110);
  REQUIRE(f.pool.charge(kFirst, BesideKind::managed, kMiB * 18));
  const auto over = f.pool.charge(kFirst, BesideKind::array, Bytes{1});
  REQUIRE_FALSE(over);
  CHECK(over.error().rule == Rule::job_limit);
  REQUIRE(f.pool.credit(kFirst, BesideKind::managed, kMiB * 118));
  REQUIRE(f.pool.credit(kFirst, BesideKind::array, kMiB * 10));
  CHECK(f.units.leased() == Units{3});
  CHECK(f.pool.stats(kFirst)->beside.kinds[static_cast<std::size_t>(BesideKind::managed)].peak == kMiB * 118);
  CHECK(f.pool.stats(kFirst)->beside.kinds[static_cast<std::size_t>(BesideKind::array)].refusals == 1);
}

TEST_CASE("a charge at the limit takes units from what is free in the arena", "[pool][facade]") {
  Fixture f(2);
  const Block block = f.allocate(kUnit * 2).value();
  REQUIRE(f.pool.free(block.base, {}));
  CHECK(f.units.leased() == Units{2});
  CHECK(f.pool.charge(kFirst, BesideKind::direct, kUnit));
  CHECK(f.backing.created() == kUnit);
}

TEST_CASE("what has happened already is charged even over the limit, and made up for later", "[pool][facade]") {
  Fixture f(2);
  const Block block = f.allocate(kUnit * 2).value();
  REQUIRE(f.pool.charge_anyway(kFirst, BesideKind::context, kMiB * 300));
  CHECK(f.pool.view(kFirst)->free == Bytes{0});
  CHECK(f.pool.stats(kFirst)->beside.overdrawn == kMiB * 300);
  REQUIRE(f.pool.free(block.base, {}));
  f.pool.give_back(kFirst, Units{2});
  f.pool.service(1);
  CHECK(f.pool.stats(kFirst)->beside.leased == Units{2});
  CHECK_FALSE(f.allocate(Bytes{512}));
}

TEST_CASE("more credited than charged does not wrap around", "[pool][facade]") {
  Fixture f;
  REQUIRE(f.pool.charge(kFirst, BesideKind::array, kMiB));
  REQUIRE(f.pool.credit(kFirst, BesideKind::array, kMiB * 5));
  REQUIRE(f.pool.credit(kFirst, BesideKind::module, kMiB * 5));
  CHECK(f.pool.view(kFirst)->free == kUnit * 8);
  CHECK_FALSE(f.pool.charge(kFirst, BesideKind::array, Bytes{~std::uint64_t{0}}));
}

TEST_CASE("an allocation beside the pool is known by address until it is disowned", "[pool][facade]") {
  Fixture f;
  const Address base{std::uint64_t{0x7000} << 24};
  REQUIRE(f.pool.charge(kFirst, BesideKind::direct, kMiB * 2));
  const Block block = f.pool.adopt(kFirst, BesideKind::direct, base, Bytes{1000}, kMiB * 2).value();
  CHECK(f.pool.query(base + Bytes{10})->beside == BesideKind::direct);
  CHECK(f.pool.query(base + Bytes{10})->block.identity == block.identity);
  CHECK(f.pool.adopt(kFirst, BesideKind::direct, base + kMiB, kMiB, kMiB).error().code == Errc::exists);
  CHECK(f.pool.disown(base + kMiB).error().code == Errc::not_taken);
  CHECK(f.pool.disown(base)->size == Bytes{1000});
  CHECK_FALSE(f.pool.query(base));
  CHECK(f.pool.view(kFirst)->free == kUnit * 8);
}

TEST_CASE("a reset drops the books of its device only, and the next allocation begins anew", "[pool][facade]") {
  Fixture f(4);
  const Block old = f.allocate(kUnit * 4).value();
  const Block other = f.allocate(kUnit, kSecond).value();
  const Address base{std::uint64_t{0x7000} << 24};
  REQUIRE(f.pool.charge_anyway(kFirst, BesideKind::context, kMiB));
  REQUIRE(f.pool.adopt(kFirst, BesideKind::direct, base, kMiB, kMiB));
  REQUIRE(f.pool.reset(kFirst));
  CHECK_FALSE(f.pool.query(old.base));
  CHECK_FALSE(f.pool.query(base));
  CHECK(f.pool.free(old.base, kAll).error().code == Errc::not_taken);
  CHECK(f.pool.query(other.base));
  CHECK(f.units.leased() == Units{0});
  CHECK(f.pool.view(kFirst)->free == kUnit * 4);
  const Block again = f.allocate(kUnit * 4).value();
  CHECK(again.identity != old.identity);
}

TEST_CASE("service returns what others want and lets go of what is not used", "[pool][facade]") {
  Fixture f(8);
  const Block block = f.allocate(kUnit * 8).value();
  REQUIRE(f.pool.free(block.base, kAll));
  f.units.set_limit(Units{5});
  f.pool.service(1000);
  CHECK(f.units.leased() == Units{8});  // work may still be using it
  f.completions.finish_all();
  f.pool.service(2000);
  CHECK(f.units.leased() == Units{5});
  for (std::uint64_t minute = 1; minute < 20; ++minute) f.pool.service(2000 + minute * Pool::kPeriodMs);
  CHECK(f.units.leased() == Units{1});  // what is kept
}

TEST_CASE("what is recorded replays", "[pool][facade]") {
  Fixture f;
  const std::string path = "/tmp/cupool_pool_test." + std::to_string(getpid());
  const auto recorder = TraceRecorder::create(path).value();
  f.pool.record(recorder.get(), nullptr);
  const Block a = f.allocate(Bytes{1000}).value();
  const Block b = f.allocate(kMiB).value();
  REQUIRE(f.pool.free(a.base, kAll));
  f.pool.record(nullptr, nullptr);
  REQUIRE(f.pool.free(b.base, kAll));
  REQUIRE(recorder->close());
  const auto events = read_trace(path);
  std::remove(path.c_str());
  REQUIRE(events);
  REQUIRE(events->size() == 3);
  CHECK((*events)[1].size == kMiB);
  CHECK((*events)[2].id == static_cast<std::uint64_t>(a.identity));
}

}  // namespace cupool::pool
