// SPDX-License-Identifier: Apache-2.0
//
// Eight threads on one pool near its limit: blocks are freed by other threads than their owners, handles are moved, units come and
// go, a peer holds handles, calls of the backing fail. Meant for ThreadSanitizer; also right without.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "pool/pool.h"
#include "tests/support/fake_backing.h"
#include "tests/support/fake_completions.h"

namespace cupool::pool {
namespace {

constexpr Bytes kHandle{2 * kMiB.count};
constexpr Bytes kUnit{16 * kMiB.count};
constexpr std::uint64_t kLimit = 16;
constexpr Bytes kRange{kUnit.count * kLimit * 16};
constexpr DeviceId kDevice{0};

/// Who owns which 64 KiB of the range. Relaxed on purpose: it must not order the threads for the sanitizer.
class Shadow {
 public:
  bool claim(const Block& block, Address base) { return change(block, base, 0, 1); }
  bool release(const Block& block, Address base) { return change(block, base, 1, 0); }

 private:
  static constexpr std::uint64_t kPage = 64 << 10;
  bool change(const Block& block, Address base, char from, char to) {
    const std::uint64_t begin = block.base.value - base.value, end = begin + block.given.count;
    bool good = true;
    for (std::uint64_t page = (begin + kPage - 1) / kPage; (page + 1) * kPage <= end; ++page) {
      good = owned_[page].exchange(to, std::memory_order_relaxed) == from && good;
    }
    return good;
  }
  std::vector<std::atomic<char>> owned_ = std::vector<std::atomic<char>>(kRange.count / kPage);
};

/// Blocks on their way from one thread to another.
class Mailbox {
 public:
  void put(const Block& block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);
  }
  bool get(Block& block) {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty()) return false;
    block = blocks_.back();
    blocks_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

/// Work that is always done when asked about the second time.
class EventualCompletions final : public Completions {
 public:
  Result<Token> mark(FreeAfter) override { return Token{next_.fetch_add(2, std::memory_order_relaxed)}; }
  bool is_done(Token) override { return asked_.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }
  Result<Done> wait(Token) override { return Done{}; }
  void forget(Token) override {}

 private:
  std::atomic<std::uint64_t> next_{1}, asked_{0};
};

struct World {
  World() {
    DeviceSettings settings;
    settings.arena.shape = UnitShape{kUnit, kHandle};
    settings.arena.range = kRange;
    settings.total = kUnit * 1000;
    REQUIRE(pool.add_device(kDevice, settings, DeviceParts{failing, units, &completions}));
    const Block first = pool.allocate(Request{kDevice, Bytes{512}, {}, {}, {}}).value();
    base = first.base;
    REQUIRE(pool.free(base, {}));
  }
  fakes::CountingBacking counting;
  fakes::FailingBacking failing{counting};
  LimitedUnits units{Units{kLimit}};
  EventualCompletions completions;
  Pool pool;
  Address base;
  Shadow shadow;
  Mailbox mailbox;
  std::atomic<std::uint64_t> faults{0}, refused{0}, taken{0};
};

FreeAfter some_after(std::uint64_t dice) {
  if (dice % 3 == 0) return FreeAfter{FreeAfter::Kind::all, {}};
  if (dice % 3 == 1) return FreeAfter{FreeAfter::Kind::stream, StreamId{dice / 3 % 4}};
  return FreeAfter{};
}

void free_one(World& world, const Block& block, std::uint64_t dice) {
  if (!world.shadow.release(block, world.base)) ++world.faults;
  if (!world.pool.free(block.base, some_after(dice))) ++world.faults;
}

void work(World& world, unsigned seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<Block> mine;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t dice = random();
    if (dice % 2 == 0 && mine.size() < 12) {
      const StreamOrder order{StreamId{dice / 64 % 4}, kEveryFree};
      const std::span<const StreamOrder> orders(&order, dice % 4 == 0 ? 1 : 0);
      const std::uint64_t size = dice / 8 % 4 == 0 ? 1 + random() % 8192 : 1 + random() % (12ULL << 20);
      const auto block = world.pool.allocate(Request{kDevice, Bytes{size}, {}, orders, {}});
      if (!block) {
        ++world.refused;
        continue;
      }
      ++world.taken;
      if (!world.shadow.claim(*block, world.base)) ++world.faults;
      const auto found = world.pool.query(block->base + Bytes{size / 2});
      if (!found || found->block.identity != block->identity) ++world.faults;
      mine.push_back(*block);
    } else if (!mine.empty()) {
      std::swap(mine[dice / 2 % mine.size()], mine.back());
      const Block block = mine.back();
      mine.pop_back();
      if (dice % 3 == 0) {
        world.mailbox.put(block);
      } else {
        free_one(world, block, dice / 16);
      }
    } else {
      Block block;
      if (world.mailbox.get(block)) free_one(world, block, dice / 16);
    }
  }
  for (const Block& block : mine) free_one(world, block, random());
}

/// What goes on beside the program's own calls.
void disturb(World& world, unsigned seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<HeldHandle> held;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t dice = random();
    switch (dice % 8) {
      case 0:
        world.pool.give_back(kDevice, Units{dice / 8 % 3});
        break;
      case 1:
        world.pool.service(static_cast<std::uint64_t>(round) * Pool::kPeriodMs);
        break;
      case 2:
        if (world.pool.stats(kDevice)->arena.created > world.pool.stats(kDevice)->arena.leased + kUnit * kLimit) ++world.faults;
        break;
      case 3:
        if (world.pool.charge(kDevice, BesideKind::array, kMiB))
          static_cast<void>(world.pool.credit(kDevice, BesideKind::array, kMiB));
        break;
      case 4:
        world.failing.fail_call(1 + dice / 8 % 10, dice % 16 < 8 ? Errc::driver : Errc::no_memory);
        break;
      case 5: {
        Block block;
        if (!world.mailbox.get(block)) break;
        if (auto some = world.pool.hold(block.base)) held.insert(held.end(), some->begin(), some->end());
        world.mailbox.put(block);
        break;
      }
      case 6:
        for (const HeldHandle& one : held) {
          if (!world.pool.let_go(one)) ++world.faults;
        }
        held.clear();
        break;
      default:
        world.units.set_limit(Units{kLimit - dice / 8 % 4});
        break;
    }
  }
  for (const HeldHandle& one : held) static_cast<void>(world.pool.let_go(one));
}

}  // namespace

TEST_CASE("threads that take, pass on and free blocks near the limit never share memory", "[pool][threads]") {
  const int rounds = std::getenv("CUPOOL_TEST_LONG") != nullptr ? 100000 : 20000;
  World world;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 7; ++i) threads.emplace_back(work, std::ref(world), i + 1, rounds);
  threads.emplace_back(disturb, std::ref(world), 99u, rounds / 2);
  for (std::thread& thread : threads) thread.join();
  Block block;
  while (world.mailbox.get(block)) free_one(world, block, 2);
  CHECK(world.faults == 0);
  CHECK(world.counting.faults() == 0);
  CHECK(world.taken > 1000);
  CHECK(world.refused > 0);
  world.failing.fail_call(0);
  world.units.set_limit(Units{kLimit});
  for (int i = 0; i < 8; ++i) world.pool.service(static_cast<std::uint64_t>(i));
  const ArenaStats stats = world.pool.stats(kDevice)->arena;
  CHECK(stats.live == Bytes{0});
  CHECK(stats.in_transit == Bytes{0});
  CHECK(stats.deferred == Bytes{0});
  CHECK(stats.created == world.counting.created());
  CHECK(stats.leased_units == world.units.leased());
  // The whole limit can be had again in one piece.
  CHECK(world.pool.allocate(Request{kDevice, kUnit * kLimit, {}, {}, {}}));
}

TEST_CASE("a reset while others allocate leaves every thread with an answer", "[pool][threads]") {
  World world;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&world, &stop, i] {
      std::mt19937_64 random(i + 1);
      while (!stop.load(std::memory_order_relaxed)) {
        const auto block = world.pool.allocate(Request{kDevice, Bytes{1 + random() % (8ULL << 20)}, {}, {}, {}});
        if (block) static_cast<void>(world.pool.free(block->base, some_after(random())));
        static_cast<void>(world.pool.view(kDevice));
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    REQUIRE(world.pool.reset(kDevice));
    static_cast<void>(world.pool.allocate(Request{kDevice, kMiB, {}, {}, {}}));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  REQUIRE(world.pool.reset(kDevice));
  CHECK(world.units.leased() == Units{0});
}

}  // namespace cupool::pool
