// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "policy/decide/admission.h"
#include "policy/decide/decide.h"
#include "policy/decide/rank.h"
#include "policy/decide/zones.h"
#include "tests/policy/decide/random_situation.h"
#include "tests/support/property.h"

// Random lives of a whole pool, every step decided by decide() and decide_admission(): what follows over time from judging each
// request by itself.
using namespace cupool;
using namespace cupool::policy;
using namespace cupool::policy::test;
using cupool::test::holds;

namespace {

constexpr std::uint32_t kLevels = 3;

struct Wait {
  std::uint64_t harmful_passes = 0;  ///< later requests of its tier that took units which it could have used
  std::size_t most_live = 1;
};

/// A pool whose jobs arrive, ask, free, obey, leave and are killed at random. Waits have no deadline.
class Life {
 public:
  Life() {
    pool_.rules.static_zone = Units{30 + up_to(40)};
    pool_.rules.critical_reserve = Units{up_to(20)};
    pool_.rules.order = static_cast<QueueOrder>(up_to(3));
    pool_.rules.aging = 1 + up_to(3);
    pool_.rules.bypass = up_to(8);
    pool_.rules.levels = kLevels;
    pool_.rules.admission.max_jobs = 3 + up_to(5);
  }

  void step() {
    switch (up_to(9)) {
      case 0:
        arrive();
        break;
      case 1:
        end(one_in(3));
        break;
      case 2:
        drain();
        break;
      case 3:
      case 4:
        give_back();
        break;
      case 5:
      case 6:
        obey();
        break;
      default:
        ask();
        break;
    }
    check_sums();
    pull();
  }

 private:
  void arrive() {
    JobSpec spec = random_job();
    spec.level = static_cast<std::uint32_t>(up_to(kLevels - 1));
    spec.held = spec.idle = 0;
    spec.on_full = OnFull::wait;  // a request that is refused does not wait
    JobAccount job = job_account(spec);
    job.standing.max_wait = Duration{kNever.ns};
    // A limit that the pool can never serve is refused for good: not what these lives are about.
    job.standing.limit = std::min(job.standing.limit, pool_.rules.capacity - pool_.rules.critical_reserve);
    job.standing.guarantee = std::min(job.standing.guarantee, job.standing.limit);
    job.standing.reserve = std::min(job.standing.reserve, job.standing.guarantee);
    const Arrival arrival{.standing = job.standing, .ticket = pool_.next_ticket++};
    const Verdict verdict = decide_admission(pool_.rules, pool_.account(), {}, arrival, now_);
    RC_ASSERT(pool_.jobs.size() <= pool_.rules.admission.max_jobs);
    if (verdict.outcome == Outcome::grant) pool_.jobs.push_back(job);
  }

  void ask() {
    if (pool_.jobs.empty() || pool_.waiting.size() >= 10) return;
    const auto job = static_cast<std::uint32_t>(up_to(pool_.jobs.size() - 1));
    const JobAccount& account = pool_.jobs[job];
    if (account.held >= account.standing.limit) return;
    Request& request = pool_.enqueue(job, 1 + up_to((account.standing.limit - account.held).count - 1));
    request.since = now_;
    waits_[request.ticket] = {};
  }

  void give_back() {
    if (pool_.jobs.empty()) return;
    JobAccount& job = pool_.jobs[up_to(pool_.jobs.size() - 1)];
    job.held -= Units{up_to(job.held.count)};
    note_borrowing(job);
  }

  /// One waiter's victims do as they are told.
  void obey() {
    if (pool_.waiting.empty()) return;
    const Request request = pool_.waiting[up_to(pool_.waiting.size() - 1)];
    pool_.judge(request, now_);
    for (const Revocation& revocation : pool_.revocations) {
      JobAccount& job = pool_.jobs[revocation.job];
      RC_ASSERT(revocation.down_to >= job.standing.guarantee);
      const Units given = job.held - std::min(job.held, revocation.down_to);
      job.held -= given;
      for (Request& waiter : pool_.waiting)
        if (waiter.ticket == request.ticket) waiter.returned += std::min(given, revocation.units);
      note_borrowing(job);
    }
  }

  void end(bool killed) {
    if (pool_.jobs.empty()) return;
    const auto index = static_cast<std::uint32_t>(up_to(pool_.jobs.size() - 1));
    if (killed) pool_.draining += pool_.jobs[index].held;
    pool_.jobs.erase(pool_.jobs.begin() + index);
    std::erase_if(pool_.waiting, [&](const Request& request) { return request.job == index; });
    for (Request& request : pool_.waiting) request.job -= request.job > index ? 1 : 0;
  }

  void drain() { pool_.draining -= Units{up_to(pool_.draining.count)}; }

  /// Waiters evaluate themselves until nobody is granted anything, in an order of no particular kind.
  void pull() {
    now_.ns += kSecond.ns;
    bool granted = true;
    while (granted) {
      granted = false;
      const std::size_t start = pool_.waiting.empty() ? 0 : up_to(pool_.waiting.size() - 1);
      for (std::size_t i = 0; i < pool_.waiting.size() && !granted; ++i) {
        const Request request = pool_.waiting[(start + i) % pool_.waiting.size()];
        const Verdict verdict = pool_.judge(request, now_);
        if (verdict.outcome == Outcome::grant) granted = grant(request);
        // A sibling's grant may have used up the job's limit.
        if (verdict.outcome == Outcome::deny) granted = withdraw(request);
      }
    }
    for (const Request& request : pool_.waiting)
      waits_[request.ticket].most_live = std::max(waits_[request.ticket].most_live, pool_.waiting.size());
  }

  bool withdraw(const Request& request) {
    std::erase_if(pool_.waiting, [&](const Request& r) { return r.ticket == request.ticket; });
    return true;
  }

  bool grant(const Request& request) {
    const Tier tier = tier_of(pool_.jobs[request.job], request.units);
    std::vector<std::uint64_t> before = within_reach();
    for (std::size_t i = 0; i < pool_.waiting.size(); ++i)
      if (pool_.waiting[i].ticket == request.ticket) before.erase(before.begin() + static_cast<std::ptrdiff_t>(i));
    withdraw(request);
    // Two requests of one job may swap the guarantee between them: what one takes as a borrower the other is then due within it.
    const bool swaps =
        std::any_of(pool_.waiting.begin(), pool_.waiting.end(), [&](const Request& r) { return r.job == request.job; });
    const std::size_t live = pool_.waiting.size() + 1;
    JobAccount& job = pool_.jobs[request.job];
    std::vector<Tier> tiers;
    for (const Request& waiter : pool_.waiting) tiers.push_back(tier_of(pool_.jobs[waiter.job], waiter.units));
    job.held += request.units;
    note_borrowing(job);
    const std::vector<std::uint64_t> now = within_reach();
    for (std::size_t i = 0; i < pool_.waiting.size(); ++i) {
      Request& waiter = pool_.waiting[i];
      Wait& wait = waits_[waiter.ticket];
      wait.most_live = std::max(wait.most_live, live);
      if (!passes_over(request, waiter)) continue;
      ++waiter.passed_over;
      if (tiers[i] != tier || waiter.job == request.job || swaps) continue;
      // Another request of its job has used its limit up: it is about to be refused.
      if (pool_.jobs[waiter.job].held + waiter.units > pool_.jobs[waiter.job].standing.limit) continue;
      // A guarantee of a critical class may come out of the reserve; the waiter's own guarantee is being called back for meanwhile.
      if (tier == Tier::guarantee && job.standing.critical) continue;
      if (now[i] < before[i]) ++wait.harmful_passes;
      if (wait.harmful_passes > bound(wait)) {
        RC_LOG() << "after " << request.units.count << " units for job " << request.job << ", ticket " << waiter.ticket
                 << " reached " << before[i] << ", now " << now[i] << ", in ";
        showValue(pool_, RC_LOG());
      }
      RC_ASSERT(wait.harmful_passes <= bound(wait));
    }
    return true;
  }

  std::uint64_t bound(const Wait& wait) const {
    if (pool_.rules.order == QueueOrder::arrival) return pool_.rules.bypass;
    return kLevels * pool_.rules.aging + (wait.most_live - 1) + pool_.rules.bypass;
  }

  /// For each waiter: how many of the units that it needs it could use now.
  std::vector<std::uint64_t> within_reach() const {
    std::vector<std::uint64_t> out;
    for (const Request& waiter : pool_.waiting)
      out.push_back(std::min(waiter.units, usable(pool_.rules, pool_.account(), waiter)).count);
    return out;
  }

  void note_borrowing(JobAccount& job) {
    if (borrowed(job) == 0) job.borrowing_since = now_;
    job.idle = std::min(job.idle, job.held);
  }

  void check_sums() const {
    const Zones zones(pool_.rules, pool_.account());
    RC_ASSERT(zones.free() >= 0);
    RC_ASSERT(zones.guaranteed() <= static_cast<std::int64_t>(pool_.rules.static_zone.count));
    // Every live guarantee can be kept: what is free, revocable or on its way back covers it.
    RC_ASSERT(zones.coverable() + static_cast<std::int64_t>(pool_.draining.count) >= 0);
    for (const JobAccount& job : pool_.jobs) RC_ASSERT(job.held <= job.standing.limit);
  }

  Situation pool_;
  Instant now_ = seconds(1);
  std::map<std::uint64_t, Wait> waits_;
};

}  // namespace

TEST_CASE("over whole lives, sums hold, guarantees stay coverable and nobody is passed over without bound", "[policy][decide]") {
  CHECK(holds("lives", 20000, [] {
    Life life;
    for (int i = 0; i < 100; ++i) life.step();
  }));
}

TEST_CASE("a stream of small requests delays a large one only so often", "[policy][decide]") {
  // Two jobs take and free single units all the time; a third wants half of the pool.
  for (const auto order : {QueueOrder::priority, QueueOrder::arrival, QueueOrder::earliest_deadline, QueueOrder::latest_deadline}) {
    Situation pool;
    pool.rules.order = order;
    const auto large = pool.add({.level = 0});
    const auto small = pool.add({.held = 60, .level = 2, .on_revoke = OnRevoke::idle});
    const std::uint64_t ticket = pool.enqueue(large, 50).ticket;
    std::uint64_t passed = 0;
    for (int i = 0; i < 1000; ++i) {
      // A unit comes free, and a small request of better class arrives.
      pool.jobs[small].held -= Units{1};
      if (pool.judge(pool.waiting[0]).outcome == Outcome::grant) break;
      Request request = pool.request(small, 1);
      if (pool.judge(request).outcome != Outcome::grant) continue;
      pool.jobs[small].held += request.units;
      ++pool.waiting[0].passed_over;
      ++passed;
    }
    CHECK(pool.waiting[0].ticket == ticket);
    CHECK(pool.judge(pool.waiting[0]).outcome == Outcome::grant);
    CHECK(passed <= pool.rules.levels * pool.rules.aging + 1 + pool.rules.bypass);
  }
}
