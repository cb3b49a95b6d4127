// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "policy/decide/decide.h"

/// A small pool to judge requests in. Levels: 0 is the lowest class. Time is in seconds.
namespace cupool::policy::test {

constexpr Instant seconds(std::uint64_t s) {
  return Instant{s * kSecond.ns};
}

struct JobSpec {
  std::uint64_t guarantee = 0, limit = 100, held = 0, reserve = 0;
  std::uint32_t level = 1;
  bool critical = false;
  OnRevoke on_revoke = OnRevoke::park;
  OnFull on_full = OnFull::wait;
  std::uint64_t weight = 1, idle = 0;
  std::optional<std::uint64_t> max_hold_s = {};
  std::uint64_t borrowing_since_s = 0;
};

inline JobAccount job_account(const JobSpec& spec) {
  JobAccount job;
  job.standing = {.guarantee = Units{spec.guarantee},
                  .reserve = Units{spec.reserve},
                  .limit = Units{spec.limit},
                  .level = spec.level,
                  .critical = spec.critical,
                  .on_revoke = spec.on_revoke,
                  .on_full = spec.on_full,
                  .max_wait = Duration{30 * kSecond.ns},
                  .max_hold = std::nullopt,
                  .weight = spec.weight};
  if (spec.max_hold_s) job.standing.max_hold = Duration{*spec.max_hold_s * kSecond.ns};
  job.held = Units{spec.held};
  job.idle = Units{spec.idle};
  job.borrowing_since = seconds(spec.borrowing_since_s);
  return job;
}

/// A pool of 100 units, 60 of them static, 10 of the rest kept for critical classes when `critical_reserve` says so.
struct Situation {
  Rules rules{.capacity = Units{100},
              .static_zone = Units{60},
              .critical_reserve = Units{0},
              .order = QueueOrder::priority,
              .aging = 4,
              .bypass = 8,
              .levels = 3,
              .admission = {.max_jobs = 4, .on_full = OnFull::wait, .max_wait = Duration{600 * kSecond.ns}}};
  std::vector<JobAccount> jobs;
  std::vector<Request> waiting;
  Units draining{}, set_aside{};
  std::uint64_t capacity = 100;
  std::uint64_t next_ticket = 1000;
  std::vector<Revocation> revocations;

  std::uint32_t add(const JobSpec& spec) {
    jobs.push_back(job_account(spec));
    return static_cast<std::uint32_t>(jobs.size() - 1);
  }
  Request request(std::uint32_t job, std::uint64_t units) { return {.job = job, .units = Units{units}, .ticket = next_ticket++}; }
  Request& enqueue(std::uint32_t job, std::uint64_t units) {
    waiting.push_back(request(job, units));
    return waiting.back();
  }
  Account account() const {
    return {.capacity = Units{capacity}, .draining = draining, .set_aside = set_aside, .jobs = jobs, .waiting = waiting};
  }

  Verdict judge(const Request& request, Instant now = Instant{0}) {
    revocations.assign(jobs.size(), {});
    const Verdict verdict = decide(rules, account(), request, now, revocations);
    revocations.resize(verdict.revocations);
    return verdict;
  }
  Verdict ask(std::uint32_t job, std::uint64_t units, Instant now = Instant{0}) { return judge(request(job, units), now); }
};

}  // namespace cupool::policy::test
