// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "policy/decide/decide.h"
#include "policy/decide/rank.h"
#include "tests/policy/decide/situation.h"

using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;

namespace {

/// Two jobs wait for the same 20 free units; each wants 15. Who is granted?
struct Contest {
  Situation pool;
  std::uint32_t a, b;

  Contest(const JobSpec& first, const JobSpec& second) : a(pool.add(first)), b(pool.add(second)) {
    const std::uint64_t held = first.held + second.held;
    pool.add({.held = 80 - held, .level = 2, .on_revoke = OnRevoke::idle});
    pool.enqueue(a, 15);
    pool.enqueue(b, 15);
  }
  /// The place of each when both have judged themselves.
  bool first_wins() { return wins(0) && !wins(1); }
  bool second_wins() { return wins(1) && !wins(0); }

 private:
  bool wins(std::size_t index) { return pool.judge(pool.waiting[index], seconds(1)).outcome == Outcome::grant; }
};

}  // namespace

TEST_CASE("the earlier ticket is served first among equals", "[policy][decide]") {
  Contest contest({}, {});
  CHECK(contest.first_wins());
}

TEST_CASE("the higher class is served first", "[policy][decide]") {
  Contest contest({.level = 0}, {.level = 1});
  CHECK(contest.second_wins());
}

TEST_CASE("a guarantee is served before a higher class that borrows", "[policy][decide]") {
  Contest contest({.level = 1}, {.guarantee = 15, .level = 0});
  CHECK(contest.second_wins());
}

TEST_CASE("arrival order takes no notice of classes", "[policy][decide]") {
  Contest contest({.level = 0}, {.level = 1});
  contest.pool.rules.order = QueueOrder::arrival;
  CHECK(contest.first_wins());
}

TEST_CASE("arrival order serves guarantees first all the same", "[policy][decide]") {
  Contest contest({.level = 1}, {.guarantee = 15, .level = 0});
  contest.pool.rules.order = QueueOrder::arrival;
  CHECK(contest.second_wins());
}

TEST_CASE("among equals who has borrowed less per weight is served first", "[policy][decide]") {
  Contest contest({.held = 20, .on_revoke = OnRevoke::idle}, {.held = 10, .on_revoke = OnRevoke::idle});
  CHECK(contest.second_wins());
}

TEST_CASE("weight counts in what has been borrowed", "[policy][decide]") {
  Contest contest({.held = 20, .on_revoke = OnRevoke::idle, .weight = 4}, {.held = 10, .on_revoke = OnRevoke::idle});
  CHECK(contest.first_wins());
}

TEST_CASE("what is guaranteed is not borrowed", "[policy][decide]") {
  Contest contest({.guarantee = 20, .held = 20}, {.held = 10, .on_revoke = OnRevoke::idle});
  CHECK(contest.first_wins());
}

TEST_CASE("the earliest deadline is served first inside a class", "[policy][decide]") {
  Contest contest({}, {});
  contest.pool.rules.order = QueueOrder::earliest_deadline;
  contest.pool.waiting[1].deadline = seconds(10);
  CHECK(contest.second_wins());
}

TEST_CASE("the latest deadline is served first inside a class", "[policy][decide]") {
  Contest contest({}, {});
  contest.pool.rules.order = QueueOrder::latest_deadline;
  contest.pool.waiting[0].deadline = seconds(10);
  CHECK(contest.second_wins());
}

TEST_CASE("deadlines do not go before class", "[policy][decide]") {
  Contest contest({.level = 0}, {.level = 1});
  contest.pool.rules.order = QueueOrder::earliest_deadline;
  contest.pool.waiting[0].deadline = seconds(10);
  CHECK(contest.second_wins());
}

TEST_CASE("a waiter rises one level each time it was passed over so often", "[policy][decide]") {
  Contest contest({.level = 0}, {.level = 1});
  contest.pool.rules.aging = 4;
  contest.pool.waiting[0].passed_over = 3;
  CHECK(contest.second_wins());
  contest.pool.waiting[0].passed_over = 4;  // now of one level: the earlier ticket
  CHECK(contest.first_wins());
}

TEST_CASE("without aging nobody rises", "[policy][decide]") {
  Contest contest({.level = 0}, {.level = 1});
  contest.pool.rules.aging = 0;
  contest.pool.waiting[0].passed_over = 1'000'000;
  CHECK(contest.second_wins());
}

TEST_CASE("aging does not let a borrower call back from its own level", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({.level = 0});
  pool.add({.held = 100, .level = 0});
  pool.enqueue(job, 10).passed_over = 1000;
  CHECK(pool.judge(pool.waiting[0]).revocations == 0);
}

TEST_CASE("a small request passes a large one that does not fit", "[policy][decide]") {
  Situation pool;
  const auto large = pool.add({}), small = pool.add({});
  pool.add({.held = 80, .level = 2, .on_revoke = OnRevoke::idle});
  pool.enqueue(large, 50);
  CHECK(pool.ask(small, 20).outcome == Outcome::grant);
}

TEST_CASE("a waiter that was passed over often enough keeps what it could use", "[policy][decide]") {
  Situation pool;
  const auto large = pool.add({}), small = pool.add({});
  pool.add({.held = 80, .level = 2, .on_revoke = OnRevoke::idle});
  pool.enqueue(large, 50).passed_over = pool.rules.bypass;
  const Verdict verdict = pool.ask(small, 1);
  CHECK(verdict.outcome == Outcome::wait);
  CHECK(verdict.rule == Rule::turn);
  CHECK(verdict.figures.ahead == Units{20});
}

TEST_CASE("a waiter whose time is over keeps nothing", "[policy][decide]") {
  Situation pool;
  const auto large = pool.add({}), small = pool.add({});
  pool.add({.held = 80, .level = 2, .on_revoke = OnRevoke::idle});
  pool.enqueue(large, 50).passed_over = pool.rules.bypass;
  CHECK(pool.ask(small, 1, seconds(31)).outcome == Outcome::grant);
}

TEST_CASE("nobody passes a waiter that is owed units called back for it", "[policy][decide]") {
  Situation pool;
  const auto high = pool.add({.level = 2}), small = pool.add({.level = 0});
  pool.add({.held = 80, .level = 0});
  pool.enqueue(high, 50);
  CHECK(pool.judge(pool.waiting[0]).rule == Rule::called_back);
  CHECK(pool.ask(small, 1).rule == Rule::turn);
}

TEST_CASE("a better ranked request that fits keeps its units until it takes them", "[policy][decide]") {
  Situation pool;
  const auto first = pool.add({.level = 2}), second = pool.add({.level = 1});
  pool.add({.held = 80, .level = 2, .on_revoke = OnRevoke::idle});
  pool.enqueue(first, 15);
  CHECK(pool.ask(second, 5).outcome == Outcome::grant);
  CHECK(pool.ask(second, 6).rule == Rule::turn);
}

TEST_CASE("a job's own earlier requests count against its limit", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({.limit = 30});
  pool.enqueue(job, 20);
  CHECK(pool.ask(job, 10).outcome == Outcome::grant);
  CHECK(pool.ask(job, 11).outcome == Outcome::wait);
}

TEST_CASE("units given back in a request's name are kept for it from one that only aged ahead", "[policy][decide]") {
  Situation pool;
  const auto old = pool.add({.level = 0}), high = pool.add({.level = 2});
  pool.add({.held = 90, .level = 1});
  Request& aged = pool.enqueue(old, 50);
  aged.passed_over = 100;
  pool.enqueue(high, 8).returned = Units{8};
  CHECK(pool.judge(pool.waiting[1]).outcome == Outcome::grant);
  pool.waiting[1].returned = Units{0};
  CHECK(pool.judge(pool.waiting[1]).outcome == Outcome::wait);
}

TEST_CASE("a guarantee may take what was given back for a borrower", "[policy][decide]") {
  Situation pool;
  const auto borrower = pool.add({.level = 2}), owner = pool.add({.guarantee = 10, .level = 0});
  pool.add({.held = 90, .level = 1, .on_revoke = OnRevoke::idle});
  pool.enqueue(borrower, 20).returned = Units{10};
  CHECK(pool.ask(owner, 10).outcome == Outcome::grant);
}

TEST_CASE("only later requests pass over a waiter", "[policy][decide]") {
  CHECK(passes_over({.job = 0, .units = Units{1}, .ticket = 2}, {.job = 1, .units = Units{1}, .ticket = 1}));
  CHECK_FALSE(passes_over({.job = 0, .units = Units{1}, .ticket = 1}, {.job = 1, .units = Units{1}, .ticket = 2}));
}

TEST_CASE("rank counts who stands before", "[policy][decide]") {
  Situation pool;
  const auto low = pool.add({.level = 0}), high = pool.add({.level = 2});
  pool.add({.held = 100, .level = 2, .on_revoke = OnRevoke::idle});
  pool.enqueue(high, 1);
  pool.enqueue(low, 1);
  CHECK(pool.judge(pool.waiting[0]).rank == 0);
  CHECK(pool.judge(pool.waiting[1]).rank == 1);
  CHECK(pool.ask(low, 1).rank == 2);
}
