// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/decide.h"

#include <catch2/catch.hpp>

#include "policy/decide/reason.h"
#include "tests/policy/decide/situation.h"

using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;

namespace {

/// One job in an otherwise given pool asks once: what comes out.
struct Case {
  const char* name;
  JobSpec asker;
  std::uint64_t asked;
  std::vector<JobSpec> others;
  Outcome outcome;
  Rule rule;
  Ending ending = Ending::none;
  std::uint64_t critical_reserve = 0, draining = 0, set_aside = 0, capacity = 100;
};

std::vector<Case> one_request_cases() {
  constexpr auto idle = OnRevoke::idle;
  constexpr auto grant = Outcome::grant, wait = Outcome::wait, deny = Outcome::deny;
  return {
      {"nothing asked is granted even above the limit", {.limit = 5, .held = 9}, 0, {}, grant, Rule::nothing_asked},
      {"within the guarantee", {.guarantee = 10}, 10, {}, grant, Rule::guarantee},
      {"beyond the guarantee is borrowed", {.guarantee = 10}, 11, {}, grant, Rule::borrow},
      {"the limit itself is allowed", {.limit = 20, .held = 5}, 15, {}, grant, Rule::borrow},
      {"one unit above the limit is denied for good", {.limit = 20, .held = 5}, 16, {}, deny, Rule::over_limit, Ending::by_rule},
      {"a sum that overflows is above the limit",
       {.limit = 20, .held = 5},
       ~std::uint64_t{0},
       {},
       deny,
       Rule::over_limit,
       Ending::by_rule},
      {"more than the pool has is denied for good", {.limit = 500}, 101, {}, deny, Rule::over_capacity, Ending::by_rule},
      {"a full pool makes a borrower wait", {}, 20, {{.held = 90, .on_revoke = idle}}, wait, Rule::pool_full},
      {"a full pool and a class that does not wait",
       {.on_full = OnFull::deny},
       20,
       {{.held = 90, .on_revoke = idle}},
       deny,
       Rule::pool_full,
       Ending::on_full},
      {"a guarantee waits for what is called back although its class does not wait",
       {.guarantee = 20, .on_full = OnFull::deny},
       20,
       {{.held = 100}},
       wait,
       Rule::called_back},
      {"the critical reserve is kept from others", {}, 95, {}, deny, Rule::over_capacity, Ending::by_rule, 10},
      {"the critical reserve is kept from others while it is free",
       {},
       30,
       {{.held = 65, .on_revoke = idle}},
       wait,
       Rule::critical_reserve,
       Ending::none,
       10},
      {"a critical class borrows from the reserve",
       {.critical = true},
       30,
       {{.held = 65, .on_revoke = idle}},
       grant,
       Rule::critical_reserve,
       Ending::none,
       10},
      {"what a critical class has borrowed uses the reserve up",
       {},
       28,
       {{.held = 70, .critical = true, .on_revoke = idle}},
       grant,
       Rule::borrow,
       Ending::none,
       10},
      {"a guaranteed critical unit does not use the reserve up",
       {},
       25,
       {{.guarantee = 60, .held = 60, .critical = true}},
       grant,
       Rule::borrow,
       Ending::none,
       10},
      {"a guaranteed critical unit does not use the reserve up: one unit more waits",
       {},
       31,
       {{.guarantee = 60, .held = 60, .critical = true}},
       wait,
       Rule::critical_reserve,
       Ending::none,
       10},
      {"an idle guarantee is lent to a job that gives back", {}, 80, {{.guarantee = 40}}, grant, Rule::borrow},
      {"an idle guarantee is not lent to a job that does not give back",
       {.on_revoke = idle},
       61,
       {{.guarantee = 40}},
       wait,
       Rule::promised},
      {"beside idle guarantees a job that does not give back may borrow",
       {.on_revoke = idle},
       60,
       {{.guarantee = 40}},
       grant,
       Rule::borrow},
      {"its own guarantee is its own", {.guarantee = 40, .on_revoke = idle}, 80, {{.guarantee = 20}}, grant, Rule::borrow},
      {"a reservation is not lent at all", {}, 61, {{.guarantee = 40, .reserve = 40}}, wait, Rule::reservations},
      {"beside a reservation", {}, 60, {{.guarantee = 40, .reserve = 40}}, grant, Rule::borrow},
      {"a reservation in use is no longer kept", {}, 60, {{.guarantee = 40, .held = 40, .reserve = 40}}, grant, Rule::borrow},
      {"the reserving job takes its reservation at once",
       {.guarantee = 40, .reserve = 40},
       40,
       {{.held = 60, .on_revoke = idle}},
       grant,
       Rule::guarantee},
      {"units set aside for an absent job are not lent", {}, 81, {}, wait, Rule::reservations, Ending::none, 0, 0, 20},
      {"units of dead jobs are waited for", {}, 50, {{.held = 40, .on_revoke = idle}}, wait, Rule::draining, Ending::none, 0, 30},
      {"a pool that shrank below what is held grants nothing",
       {.held = 50},
       1,
       {},
       wait,
       Rule::pool_full,
       Ending::none,
       0,
       0,
       0,
       40},
      {"a guarantee is called back from borrowers of any level",
       {.guarantee = 40, .level = 0},
       40,
       {{.held = 80, .level = 2}},
       wait,
       Rule::called_back},
      {"a borrower calls back from lower levels", {.level = 2}, 40, {{.held = 80, .level = 1}}, wait, Rule::called_back},
      {"a borrower does not call back from its own level", {.level = 1}, 40, {{.held = 80, .level = 1}}, wait, Rule::pool_full},
      {"a borrower does not call back from above", {.level = 1}, 40, {{.held = 80, .level = 2}}, wait, Rule::pool_full},
      {"nothing within a guarantee is called back",
       {.guarantee = 10, .level = 2},
       40,
       {{.guarantee = 60, .held = 60}, {.held = 30, .on_revoke = idle}},
       wait,
       Rule::pool_full},
      {"a borrower disturbs nobody when that would not be enough",
       {.level = 2},
       40,
       {{.held = 70, .on_revoke = idle}, {.held = 25}},
       wait,
       Rule::pool_full},
      {"of a job that does not park only idle units are called back",
       {.level = 2},
       40,
       {{.held = 80, .on_revoke = idle, .idle = 20}},
       wait,
       Rule::called_back},
      {"one idle unit too few", {.level = 2}, 40, {{.held = 80, .on_revoke = idle, .idle = 19}}, wait, Rule::pool_full},
      {"critical units that would only fill the reserve are no gain to others",
       {.guarantee = 20},
       20,
       {{.held = 10, .level = 2, .critical = true}, {.held = 80, .on_revoke = idle}},
       wait,
       Rule::pool_full,
       Ending::none,
       10},
  };
}

}  // namespace

TEST_CASE("each rule decides its case", "[policy][decide]") {
  for (const Case& c : one_request_cases()) {
    DYNAMIC_SECTION(c.name) {
      Situation pool;
      pool.rules.critical_reserve = Units{c.critical_reserve};
      pool.draining = Units{c.draining};
      pool.set_aside = Units{c.set_aside};
      pool.capacity = c.capacity;
      const std::uint32_t asker = pool.add(c.asker);
      for (const JobSpec& other : c.others) pool.add(other);
      const Verdict verdict = pool.ask(asker, c.asked);
      INFO(explain(verdict, kUnitStep));
      CHECK(to_text(verdict.outcome) == std::string(to_text(c.outcome)));
      CHECK(to_text(verdict.rule) == std::string(to_text(c.rule)));
      CHECK(to_text(verdict.ending) == std::string(to_text(c.ending)));
      CHECK(verdict.granted == Units{c.outcome == Outcome::grant ? c.asked : 0});
    }
  }
}

TEST_CASE("a request that names no job is refused", "[policy][decide]") {
  Situation pool;
  CHECK(pool.ask(0, 1).rule == Rule::bad_request);
}

TEST_CASE("an account larger than agreed is refused", "[policy][decide]") {
  Situation pool;
  for (std::size_t i = 0; i <= kMaxJobs; ++i) pool.add({});
  CHECK(pool.ask(0, 1).rule == Rule::bad_account);
}

TEST_CASE("a wait ends at the class's longest wait or at the request's own deadline, whichever comes first", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({});
  pool.add({.held = 100, .on_revoke = OnRevoke::idle});
  Request request = pool.request(job, 5);
  request.since = seconds(100);
  CHECK(pool.judge(request, seconds(100)).until == seconds(130));
  request.deadline = seconds(110);
  CHECK(pool.judge(request, seconds(100)).until == seconds(110));
}

TEST_CASE("a request whose time is over is denied with what stood in its way", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({});
  pool.add({.held = 100, .on_revoke = OnRevoke::idle});
  Request request = pool.request(job, 5);
  const Verdict verdict = pool.judge(request, seconds(30));
  CHECK(verdict.outcome == Outcome::deny);
  CHECK(verdict.rule == Rule::pool_full);
  CHECK(verdict.ending == Ending::deadline);
}

TEST_CASE("a request whose time is over is still granted when it fits", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({});
  CHECK(pool.judge(pool.request(job, 5), seconds(31)).outcome == Outcome::grant);
}

TEST_CASE("a caller that cannot wait is denied and nothing is called back for it", "[policy][decide]") {
  Situation pool;
  const auto job = pool.add({.guarantee = 20});
  pool.add({.held = 100});
  Request request = pool.request(job, 20);
  request.patience = Patience::cannot_wait;
  const Verdict verdict = pool.judge(request);
  CHECK(verdict.outcome == Outcome::deny);
  CHECK(verdict.ending == Ending::cannot_wait);
  CHECK(verdict.revocations == 0);
}

TEST_CASE("the figures of a verdict are those of the account", "[policy][decide]") {
  Situation pool;
  pool.rules.critical_reserve = Units{10};
  const auto job = pool.add({.guarantee = 5, .limit = 90, .held = 20});
  pool.add({.held = 60, .on_revoke = OnRevoke::idle});
  const Figures figures = pool.ask(job, 15).figures;
  CHECK(figures.asked == Units{15});
  CHECK(figures.held == Units{20});
  CHECK(figures.guarantee == Units{5});
  CHECK(figures.limit == Units{90});
  CHECK(figures.free == Units{20});
  CHECK(figures.kept_critical == Units{10});
  CHECK(figures.usable == Units{10});
}

TEST_CASE("what a job could be granted is what usable() says", "[policy][decide]") {
  Situation pool;
  pool.rules.critical_reserve = Units{10};
  const auto job = pool.add({.limit = 70});
  pool.add({.held = 50});
  CHECK(usable(pool.rules, pool.account(), pool.request(job, 1)) == Units{40});
  CHECK(usable(pool.rules, pool.account(), pool.request(7, 1)) == Units{0});
}

TEST_CASE("held units are counted from the owners of the units", "[policy][decide]") {
  std::vector<JobAccount> jobs(2);
  jobs[0].held = Units{99};
  const std::array<std::uint16_t, 6> owners{0, 1, 1, 0xffff, 2, 1};
  count_held(owners, jobs);
  CHECK(jobs[0].held == Units{1});
  CHECK(jobs[1].held == Units{3});
}
