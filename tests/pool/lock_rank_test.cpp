// SPDX-License-Identifier: Apache-2.0
#include "pool/lock_rank.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cupool::pool {
namespace {

using CheckedMutex = BasicRankedMutex<true>;

struct Fault {
  LockRank held, wanted;
};
std::vector<Fault> g_faults;

struct NotesFaults {
  NotesFaults() {
    g_faults.clear();
    before = set_rank_fault_handler([](LockRank held, LockRank wanted) { g_faults.push_back({held, wanted}); });
  }
  ~NotesFaults() { set_rank_fault_handler(before); }
  RankFault before;
};

}  // namespace

TEST_CASE("locks taken upwards are fine, in whatever order they are released", "[pool][lock_rank]") {
  const NotesFaults notes;
  CheckedMutex low(LockRank::pool), high(LockRank::units);
  low.lock();
  high.lock();
  low.unlock();
  high.unlock();
  low.lock();
  low.unlock();
  CHECK(g_faults.empty());
}

TEST_CASE("a lower rank wanted while a higher one is held is reported", "[pool][lock_rank]") {
  const NotesFaults notes;
  CheckedMutex low(LockRank::pool), high(LockRank::arena);
  high.lock();
  low.lock();
  low.unlock();
  high.unlock();
  REQUIRE(g_faults.size() == 1);
  CHECK(g_faults[0].held == LockRank::arena);
  CHECK(g_faults[0].wanted == LockRank::pool);
}

TEST_CASE("two locks of one rank are reported", "[pool][lock_rank]") {
  const NotesFaults notes;
  CheckedMutex one(LockRank::arena), other(LockRank::arena);
  one.lock();
  other.lock();
  other.unlock();
  one.unlock();
  CHECK(g_faults.size() == 1);
}

}  // namespace cupool::pool
