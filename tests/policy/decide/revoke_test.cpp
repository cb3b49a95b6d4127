// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <map>

#include "policy/decide/decide.h"
#include "tests/policy/decide/situation.h"

using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;

namespace {

/// How much each job gives for a request of `units` by a job of the highest level, in a full pool.
std::map<std::uint32_t, std::uint64_t> given_for(std::uint64_t units, const std::vector<JobSpec>& holders,
                                                 Instant now = seconds(1)) {
  Situation pool;
  for (const JobSpec& holder : holders) pool.add(holder);
  const auto asker = pool.add({.level = 2});
  Request request = pool.request(asker, units);
  request.since = now;
  pool.judge(request, now);
  std::map<std::uint32_t, std::uint64_t> given;
  for (const Revocation& revocation : pool.revocations) {
    CHECK(revocation.down_to == pool.jobs[revocation.job].held - revocation.units);
    given[revocation.job] = revocation.units.count;
  }
  return given;
}

using Given = std::map<std::uint32_t, std::uint64_t>;

}  // namespace

TEST_CASE("lower levels give first", "[policy][decide]") {
  const std::vector<JobSpec> holders{{.held = 50, .level = 1}, {.held = 50, .level = 0}};
  CHECK(given_for(30, holders) == Given{{1, 30}});
  CHECK(given_for(60, holders) == Given{{0, 10}, {1, 50}});
}

TEST_CASE("within a level the largest borrower is levelled down first", "[policy][decide]") {
  const std::vector<JobSpec> holders{{.held = 60, .level = 0}, {.held = 30, .level = 0}, {.held = 10, .level = 0}};
  CHECK(given_for(20, holders) == Given{{0, 20}});
  CHECK(given_for(50, holders) == Given{{0, 40}, {1, 10}});
  CHECK(given_for(99, holders) == Given{{0, 60}, {1, 30}, {2, 9}});
}

TEST_CASE("a larger weight keeps more", "[policy][decide]") {
  CHECK(given_for(40, {{.held = 50, .level = 0, .weight = 4}, {.held = 50, .level = 0, .weight = 1}}) == Given{{0, 2}, {1, 38}});
}

TEST_CASE("guarantees are left alone", "[policy][decide]") {
  CHECK(given_for(60, {{.guarantee = 30, .held = 50, .level = 0}, {.guarantee = 5, .held = 50, .level = 0}}) ==
        Given{{0, 18}, {1, 42}});
}

TEST_CASE("who does not park gives no more than is idle", "[policy][decide]") {
  CHECK(given_for(30, {{.held = 60, .level = 0, .on_revoke = OnRevoke::idle, .idle = 5}, {.held = 40, .level = 1}}) ==
        Given{{0, 5}, {1, 25}});
}

TEST_CASE("what was held too long goes back to the job's own level", "[policy][decide]") {
  const std::vector<JobSpec> holders{{.held = 50, .level = 2, .max_hold_s = 10}, {.held = 50, .level = 2}};
  CHECK(given_for(20, holders, seconds(9)).empty());
  CHECK(given_for(20, holders, seconds(10)) == Given{{0, 20}});
}

TEST_CASE("who has held too long itself calls nothing back from its own level", "[policy][decide]") {
  Situation pool;
  pool.add({.held = 50, .max_hold_s = 10});
  const auto asker = pool.add({.held = 50, .max_hold_s = 10});
  CHECK(pool.judge(pool.request(asker, 5), seconds(20)).revocations == 0);
}

TEST_CASE("a lower class calls nothing back from a higher one, however long that has held", "[policy][decide]") {
  Situation pool;
  pool.add({.held = 100, .level = 2, .max_hold_s = 10});
  const auto asker = pool.add({.level = 1});
  CHECK(pool.judge(pool.request(asker, 5), seconds(20)).revocations == 0);
}

TEST_CASE("two requests do not call the same units back twice", "[policy][decide]") {
  Situation pool;
  const auto victim = pool.add({.held = 100, .level = 0});
  const auto first = pool.add({.level = 2}), second = pool.add({.level = 2});
  pool.enqueue(first, 30);
  pool.enqueue(second, 20);
  pool.judge(pool.waiting[0]);
  REQUIRE(pool.revocations.size() == 1);
  CHECK(pool.revocations[0].job == victim);
  CHECK(pool.revocations[0].down_to == Units{70});
  pool.judge(pool.waiting[1]);
  REQUIRE(pool.revocations.size() == 1);
  CHECK(pool.revocations[0].units == Units{20});
  CHECK(pool.revocations[0].down_to == Units{50});
  CHECK(pool.revocations[0].for_ticket == pool.waiting[1].ticket);
}

TEST_CASE("once victims have obeyed, the same evaluation asks for nothing more", "[policy][decide]") {
  Situation pool;
  pool.add({.held = 100, .level = 0});
  const auto asker = pool.add({.level = 2});
  pool.enqueue(asker, 30);
  pool.judge(pool.waiting[0]);
  pool.jobs[0].held = pool.revocations.at(0).down_to;
  CHECK(pool.judge(pool.waiting[0]).outcome == Outcome::grant);
}

TEST_CASE("a list that is too short is filled and no further", "[policy][decide]") {
  Situation pool;
  pool.add({.held = 50, .level = 0});
  pool.add({.held = 50, .level = 0});
  const auto asker = pool.add({.level = 2});
  std::array<Revocation, 1> room;
  const Verdict verdict = decide(pool.rules, pool.account(), pool.request(asker, 60), Instant{0}, room);
  CHECK(verdict.outcome == Outcome::wait);
  CHECK(verdict.revocations == 1);
}
