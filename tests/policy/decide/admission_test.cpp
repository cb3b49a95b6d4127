// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/admission.h"

#include <catch2/catch.hpp>

#include "policy/decide/reason.h"
#include "tests/policy/decide/situation.h"

using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;

namespace {

struct Door {
  Situation pool;
  std::vector<Arrival> line;

  Arrival arrival(const JobSpec& spec) { return {.standing = job_account(spec).standing, .ticket = pool.next_ticket++}; }
  Verdict judge(const Arrival& arrival, Instant now = Instant{0}) {
    return decide_admission(pool.rules, pool.account(), line, arrival, now);
  }
};

}  // namespace

TEST_CASE("a job may start while there are fewer than the policy allows", "[policy][decide]") {
  Door door;
  for (int i = 0; i < 3; ++i) door.pool.add({});
  CHECK(door.judge(door.arrival({})).rule == Rule::admitted);
  door.pool.add({});
  const Verdict verdict = door.judge(door.arrival({}));
  CHECK(verdict.outcome == Outcome::wait);
  CHECK(verdict.rule == Rule::max_jobs);
  CHECK(verdict.until == seconds(600));
}

TEST_CASE("a job too many is refused at once where the policy says so", "[policy][decide]") {
  Door door;
  door.pool.rules.admission.max_jobs = 0;
  door.pool.rules.admission.on_full = OnFull::deny;
  CHECK(door.judge(door.arrival({})).ending == Ending::on_full);
}

TEST_CASE("a job that has waited long enough is refused with what kept it out", "[policy][decide]") {
  Door door;
  door.pool.rules.admission.max_jobs = 0;
  const Verdict verdict = door.judge(door.arrival({}), seconds(600));
  CHECK(verdict.outcome == Outcome::deny);
  CHECK(verdict.rule == Rule::max_jobs);
  CHECK(verdict.ending == Ending::deadline);
}

TEST_CASE("guarantees of live jobs never exceed the static zone", "[policy][decide]") {
  Door door;
  door.pool.add({.guarantee = 40});
  CHECK(door.judge(door.arrival({.guarantee = 20})).rule == Rule::admitted);
  CHECK(door.judge(door.arrival({.guarantee = 21})).rule == Rule::zone_full);
}

TEST_CASE("a guarantee larger than the static zone is refused for good", "[policy][decide]") {
  Door door;
  const Verdict verdict = door.judge(door.arrival({.guarantee = 61}));
  CHECK(verdict.rule == Rule::over_zone);
  CHECK(verdict.ending == Ending::by_rule);
}

TEST_CASE("a job is admitted only when its guarantee can be kept", "[policy][decide]") {
  Door door;
  door.pool.add({.held = 90, .on_revoke = OnRevoke::idle});
  CHECK(door.judge(door.arrival({.guarantee = 10})).rule == Rule::admitted);
  CHECK(door.judge(door.arrival({.guarantee = 11})).rule == Rule::not_coverable);
}

TEST_CASE("what borrowers give back on demand covers a guarantee", "[policy][decide]") {
  Door door;
  door.pool.add({.held = 90});
  CHECK(door.judge(door.arrival({.guarantee = 60})).rule == Rule::admitted);
}

TEST_CASE("the critical reserve covers no guarantee", "[policy][decide]") {
  Door door;
  door.pool.rules.critical_reserve = Units{10};
  door.pool.add({.held = 70, .on_revoke = OnRevoke::idle});
  CHECK(door.judge(door.arrival({.guarantee = 20})).rule == Rule::admitted);
  CHECK(door.judge(door.arrival({.guarantee = 21})).rule == Rule::not_coverable);
}

TEST_CASE("the higher class starts first, and the earlier one among equals", "[policy][decide]") {
  Door door;
  door.pool.rules.admission.max_jobs = 1;
  door.line = {door.arrival({.level = 0}), door.arrival({.level = 1}), door.arrival({.level = 1})};
  CHECK(door.judge(door.line[0]).rule == Rule::turn);
  CHECK(door.judge(door.line[1]).rule == Rule::admitted);
  CHECK(door.judge(door.line[2]).rank == 1);
}

TEST_CASE("one whose guarantee does not fit yet is passed over, but not for ever", "[policy][decide]") {
  Door door;
  door.pool.add({.guarantee = 50});
  door.line = {door.arrival({.guarantee = 30})};
  const Arrival later = door.arrival({.guarantee = 5});
  CHECK(door.judge(later).rule == Rule::admitted);
  door.line[0].passed_over = door.pool.rules.bypass;
  CHECK(door.judge(later).rule == Rule::turn);
}

TEST_CASE("no more jobs start than an account can hold", "[policy][decide]") {
  Door door;
  door.pool.rules.admission.max_jobs = 100'000;
  for (std::size_t i = 0; i < kMaxJobs; ++i) door.pool.add({});
  CHECK(door.judge(door.arrival({})).rule == Rule::max_jobs);
}

TEST_CASE("every verdict has its words", "[policy][decide]") {
  for (int rule = 0; rule <= static_cast<int>(Rule::bad_account); ++rule) {
    for (const auto outcome : {Outcome::grant, Outcome::wait, Outcome::deny}) {
      Verdict verdict;
      verdict.outcome = outcome;
      verdict.rule = static_cast<Rule>(rule);
      CHECK(to_text(verdict.rule) != std::string("?"));
      CHECK(explain(verdict, kUnitStep).size() > 15);
    }
  }
}
