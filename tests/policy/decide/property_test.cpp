// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "policy/decide/decide.h"
#include "policy/decide/rank.h"
#include "policy/decide/reason.h"
#include "policy/decide/zones.h"
#include "tests/policy/decide/random_situation.h"
#include "tests/support/property.h"

// What decide.h promises, over random pools; also over accounts that no run of decide() leads to, where that makes sense.
using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;
using cupool::test::holds;

namespace {

constexpr int kCases = 12'500;

std::int64_t free_units(const Situation& pool) {
  return Zones(pool.rules, pool.account()).free();
}

Verdict judge(const Situation& pool, const Request& request, std::vector<Revocation>& revocations) {
  revocations.assign(pool.jobs.size(), {});
  const Verdict verdict = decide(pool.rules, pool.account(), request, kJudgedAt, revocations);
  revocations.resize(verdict.revocations);
  return verdict;
}

Verdict judge(const Situation& pool, const Request& request) {
  std::vector<Revocation> ignored;
  return judge(pool, request, ignored);
}

bool is_overdue(const JobAccount& job) {
  return job.standing.max_hold && borrowed(job) > 0 && after(job.borrowing_since, *job.standing.max_hold) <= kJudgedAt;
}

std::vector<Request> by_rank(const Situation& pool) {
  std::vector<Request> sorted = pool.waiting;
  std::sort(sorted.begin(), sorted.end(), [&](const Request& a, const Request& b) {
    return rank_of(pool.rules, pool.jobs[a.job], a) < rank_of(pool.rules, pool.jobs[b.job], b);
  });
  return sorted;
}

/// Better is larger: granted, waiting with units on their way, waiting, denied.
int goodness(const Verdict& verdict) {
  if (verdict.outcome == Outcome::grant) return 3;
  if (verdict.outcome == Outcome::deny) return 0;
  return verdict.rule == Rule::called_back ? 2 : 1;
}

/// Waiting is waiting, whatever for.
int as_outcome(int goodness) {
  return goodness == 2 ? 1 : goodness;
}

/// Everybody gives back what the verdict asks for.
void obey(Situation& pool, const std::vector<Revocation>& revocations) {
  for (const Revocation& revocation : revocations) pool.jobs[revocation.job].held = revocation.down_to;
}

bool reaches(const std::map<std::uint32_t, std::set<std::uint32_t>>& edges, std::uint32_t from, std::uint32_t to,
             std::set<std::uint32_t>& seen) {
  if (!seen.insert(from).second) return false;
  const auto found = edges.find(from);
  if (found == edges.end()) return false;
  for (const std::uint32_t next : found->second)
    if (next == to || reaches(edges, next, to, seen)) return true;
  return false;
}

}  // namespace

TEST_CASE("a grant never exceeds limit, capacity or what is free", "[policy][decide]") {
  CHECK(holds("never above limit or capacity", kCases, [](Situation pool) {
    const Request request = random_request(pool);
    const Verdict verdict = judge(pool, request);
    if (verdict.outcome != Outcome::grant) return RC_ASSERT(verdict.granted == Units{0});
    const JobAccount& job = pool.jobs[request.job];
    RC_ASSERT(verdict.granted == request.units);
    RC_ASSERT(job.held + verdict.granted <= job.standing.limit);
    RC_ASSERT(static_cast<std::int64_t>(verdict.granted.count) <= free_units(pool));
    RC_ASSERT(job.held + verdict.granted <= pool.rules.capacity);
  }));
}

TEST_CASE("the critical reserve is given to critical classes only", "[policy][decide]") {
  CHECK(holds("reserve only for critical", kCases, [](Situation pool) {
    const Request request = random_request(pool);
    const Verdict verdict = judge(pool, request);
    if (verdict.outcome != Outcome::grant || pool.jobs[request.job].standing.critical) return;
    std::uint64_t in_use = 0;
    for (const JobAccount& job : pool.jobs) in_use += job.standing.critical ? borrowed(job) : 0;
    const std::uint64_t kept = std::max(pool.rules.critical_reserve.count, in_use) - in_use;
    RC_ASSERT(free_units(pool) - static_cast<std::int64_t>(request.units.count) >= static_cast<std::int64_t>(kept));
  }));
}

TEST_CASE("what is set aside for a reservation is given to nobody else", "[policy][decide]") {
  CHECK(holds("reservations are kept", kCases, [](Situation pool) {
    const Request request = random_request(pool);
    if (judge(pool, request).outcome != Outcome::grant) return;
    std::int64_t kept = static_cast<std::int64_t>(pool.set_aside.count);
    for (std::uint32_t i = 0; i < pool.jobs.size(); ++i) {
      const JobAccount& job = pool.jobs[i];
      if (i != request.job && job.held < job.standing.reserve)
        kept += static_cast<std::int64_t>((job.standing.reserve - job.held).count);
    }
    RC_ASSERT(free_units(pool) - static_cast<std::int64_t>(request.units.count) >= kept);
  }));
}

TEST_CASE("a request within its guarantee is granted, or all it lacks is called back, while sums allow", "[policy][decide]") {
  CHECK(holds("guarantees are kept", kCases, [](Situation pool) {
    pool.waiting.clear();
    const auto job = static_cast<std::uint32_t>(up_to(pool.jobs.size() - 1));
    JobAccount& asker = pool.jobs[job];
    asker.standing.guarantee = Units{1 + up_to(std::min<std::uint64_t>(asker.standing.limit.count, 20) - 1)};
    asker.held = Units{up_to(asker.standing.guarantee.count - 1)};
    make_sums_allow(pool);
    if (!one_in(4)) lend_the_rest(pool);
    RC_PRE(Zones(pool.rules, pool.account()).coverable() >= 0);
    RC_PRE(asker.held < asker.standing.guarantee);
    Request request = pool.request(job, 1 + up_to((asker.standing.guarantee - asker.held).count - 1));
    request.since = kJudgedAt;
    std::vector<Revocation> revocations;
    const Verdict verdict = judge(pool, request, revocations);
    RC_CLASSIFY(verdict.outcome == Outcome::wait, "called back");
    RC_ASSERT(verdict.outcome != Outcome::deny);
    obey(pool, revocations);
    RC_ASSERT(judge(pool, request).outcome == Outcome::grant);
  }));
}

TEST_CASE("what a borrower calls back is enough for it", "[policy][decide]") {
  CHECK(holds("no futile revocation", kCases, [](Situation pool) {
    pool.waiting.clear();
    const Request request = random_request(pool);
    std::vector<Revocation> revocations;
    const Verdict verdict = judge(pool, request, revocations);
    const JobAccount& job = pool.jobs[request.job];
    if (revocations.empty() || job.held + request.units <= job.standing.guarantee) return;
    RC_CLASSIFY(true, "called back");
    RC_ASSERT(verdict.outcome == Outcome::wait);
    obey(pool, revocations);
    RC_ASSERT(judge(pool, request).outcome == Outcome::grant);
  }));
}

TEST_CASE("units are called back from strictly lower rank only, and never below a guarantee", "[policy][decide]") {
  CHECK(holds("lower rank never revokes from higher", kCases, [](Situation pool) {
    const Request request = random_request(pool);
    std::vector<Revocation> revocations;
    judge(pool, request, revocations);
    const JobAccount& asker = pool.jobs[request.job];
    const bool within = asker.held + request.units <= asker.standing.guarantee;
    std::set<std::uint32_t> seen;
    for (const Revocation& revocation : revocations) {
      const JobAccount& victim = pool.jobs[revocation.job];
      RC_ASSERT(revocation.job != request.job);
      RC_ASSERT(seen.insert(revocation.job).second);
      RC_ASSERT(revocation.for_ticket == request.ticket);
      RC_ASSERT(revocation.units.count > 0);
      RC_ASSERT(revocation.down_to >= victim.standing.guarantee);
      RC_ASSERT(revocation.down_to + revocation.units <= victim.held);
      const bool lower = victim.standing.level < asker.standing.level;
      const bool overdue_equal = victim.standing.level == asker.standing.level && is_overdue(victim) && !is_overdue(asker);
      RC_ASSERT(within || lower || overdue_equal);
      if (victim.standing.on_revoke == OnRevoke::idle) RC_ASSERT(victim.held - revocation.down_to <= victim.idle);
    }
  }));
}

TEST_CASE("who waits for whose units forms no cycle", "[policy][decide]") {
  CHECK(holds("no cycle among n jobs", kCases, [](Situation pool) {
    std::map<std::uint32_t, std::set<std::uint32_t>> edges;
    for (const Request& request : pool.waiting) {
      std::vector<Revocation> revocations;
      judge(pool, request, revocations);
      for (const Revocation& revocation : revocations) edges[request.job].insert(revocation.job);
    }
    RC_CLASSIFY(edges.size() > 1, "several jobs call back");
    for (const auto& [job, others] : edges) {
      std::set<std::uint32_t> seen;
      RC_ASSERT(!reaches(edges, job, job, seen));
    }
  }));
}

TEST_CASE("one more free unit makes no verdict worse, unless with it a better ranked waiter is served", "[policy][decide]") {
  CHECK(holds("monotone in rank order", kCases, [](Situation pool) {
    Situation richer = pool;
    ++richer.capacity;
    for (const Request& request : by_rank(pool)) {
      const int before = goodness(judge(pool, request)), now = goodness(judge(richer, request));
      RC_ASSERT(as_outcome(now) >= as_outcome(before));
      if (now > before) return;  // it got the unit: those behind it may have lost their chance to pass it
    }
  }));
}

TEST_CASE("with nobody waiting one more free unit never makes a verdict worse", "[policy][decide]") {
  CHECK(holds("monotone alone", kCases, [](Situation pool) {
    pool.waiting.clear();
    const Request request = random_request(pool);
    const int before = goodness(judge(pool, request));
    pool.capacity += 1 + up_to(9);
    RC_ASSERT(goodness(judge(pool, request)) >= before);
  }));
}

TEST_CASE("the same account gives the same verdict, in whatever order its requests are listed", "[policy][decide]") {
  CHECK(holds("deterministic", kCases, [](Situation pool) {
    const Request request = random_request(pool);
    std::vector<Revocation> first, second;
    const Verdict a = judge(pool, request, first);
    std::reverse(pool.waiting.begin(), pool.waiting.end());
    const Verdict b = judge(pool, request, second);
    RC_ASSERT(explain(a, kUnitStep) == explain(b, kUnitStep));
    RC_ASSERT(a.outcome == b.outcome);
    RC_ASSERT(a.rule == b.rule);
    RC_ASSERT(a.rank == b.rank);
    RC_ASSERT(a.until == b.until);
    RC_ASSERT(a.granted == b.granted);
    RC_ASSERT(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      RC_ASSERT(first[i].job == second[i].job);
      RC_ASSERT(first[i].down_to == second[i].down_to);
    }
  }));
}

TEST_CASE("a better ranked request that fits is never passed", "[policy][decide]") {
  CHECK(holds("rank is respected", kCases, [](Situation pool) {
    // Whoever fits when served in rank order is granted; nobody behind takes what it needs.
    const std::vector<Request> queue = by_rank(pool);
    std::map<std::uint64_t, Outcome> before;
    for (const Request& request : queue) before[request.ticket] = judge(pool, request).outcome;
    // The last of those that are granted takes its units first: the others are granted all the same.
    const auto last =
        std::find_if(queue.rbegin(), queue.rend(), [&](const Request& r) { return before[r.ticket] == Outcome::grant; });
    if (last == queue.rend()) return;
    RC_LOG() << "ticket " << last->ticket << " takes its units first";
    pool.jobs[last->job].held += last->units;
    pool.waiting.erase(
        std::find_if(pool.waiting.begin(), pool.waiting.end(), [&](const Request& r) { return r.ticket == last->ticket; }));
    for (const Request& request : queue) {
      if (request.ticket == last->ticket || before[request.ticket] != Outcome::grant || request.job == last->job) continue;
      RC_LOG() << "then ticket " << request.ticket;
      RC_ASSERT(judge(pool, request).outcome == Outcome::grant);
    }
  }));
}
