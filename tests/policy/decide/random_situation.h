// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include "tests/policy/decide/situation.h"

/// Random pools for properties. Small numbers, so that limits, zones and queues collide often.
namespace cupool::policy::test {

/// Evenly spread, whatever size RapidCheck is at.
inline std::uint64_t up_to(std::uint64_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, most + 1));
}
inline bool one_in(std::uint64_t n) {
  return up_to(n - 1) == 0;
}

inline JobSpec random_job() {
  JobSpec spec;
  spec.limit = 1 + up_to(59);
  spec.guarantee = one_in(2) ? 0 : std::min(spec.limit, up_to(15));
  spec.reserve = one_in(4) ? up_to(spec.guarantee) : 0;
  spec.held = up_to(spec.limit);
  spec.level = static_cast<std::uint32_t>(up_to(2));
  spec.critical = one_in(4);
  spec.on_revoke = one_in(3) ? OnRevoke::idle : OnRevoke::park;
  spec.on_full = one_in(6) ? OnFull::deny : OnFull::wait;
  spec.weight = 1 + up_to(3);
  spec.idle = up_to(spec.held);
  if (one_in(3)) spec.max_hold_s = 1 + up_to(9);
  spec.borrowing_since_s = up_to(20);
  return spec;
}

/// Borrowers that give back take what is left, so that requests have something to call back.
inline void lend_the_rest(Situation& pool) {
  Units used = pool.draining + pool.set_aside + pool.rules.critical_reserve;
  for (const JobAccount& job : pool.jobs) used += std::max(job.held, job.standing.reserve);
  Units left{pool.capacity > used.count ? pool.capacity - used.count : 0};
  for (JobAccount& job : pool.jobs) {
    if (job.standing.on_revoke != OnRevoke::park || job.held < job.standing.guarantee) continue;
    const Units more = std::min(left, job.standing.limit - std::min(job.standing.limit, job.held));
    job.held += more;
    left -= more;
  }
}

/// Anything that could stand in an account, also what no run of decide() would lead to: overdrawn, shrunk, draining.
inline Situation random_situation() {
  Situation pool;
  pool.rules.static_zone = Units{up_to(100)};
  pool.rules.critical_reserve = Units{one_in(2) ? 0 : up_to((Units{100} - pool.rules.static_zone).count)};
  pool.rules.order = static_cast<QueueOrder>(up_to(3));
  pool.rules.aging = up_to(4);
  pool.rules.bypass = up_to(4);
  const auto jobs = 1 + up_to(6);
  const bool overdrawn = one_in(8);
  Units left{100};
  for (std::uint64_t i = 0; i < jobs; ++i) {
    JobAccount& job = pool.jobs[pool.add(random_job())];
    if (!overdrawn) job.held = std::min(job.held, left);
    job.idle = std::min(job.idle, job.held);
    left -= std::min(job.held, left);
  }
  if (one_in(2)) lend_the_rest(pool);
  if (one_in(4)) pool.draining = Units{up_to(20)};
  if (one_in(4)) pool.set_aside = Units{up_to(20)};
  if (one_in(4)) pool.capacity = up_to(100);
  const auto waiting = up_to(6);
  std::vector<std::uint64_t> queued(jobs);
  for (std::uint64_t i = 0; i < waiting; ++i) {
    // Requests beyond the job's limit are refused, not queued.
    const auto job = static_cast<std::uint32_t>(up_to(jobs - 1));
    const std::uint64_t limit = pool.jobs[job].standing.limit.count, due = pool.jobs[job].held.count + queued[job];
    if (due >= limit) continue;
    Request& request = pool.enqueue(job, 1 + up_to(std::min<std::uint64_t>(40, limit - due) - 1));
    const bool first = queued[job] == 0;
    queued[job] += request.units.count;
    request.passed_over = up_to(10);
    request.since = seconds(up_to(10));
    if (first && one_in(4)) request.returned = Units{up_to(10)};
    if (one_in(3)) request.deadline = seconds(20 + up_to(20));
  }
  return pool;
}

/// The judgement is made at 20 s: nobody's wait is over, and some borrowers are past their longest hold.
inline constexpr Instant kJudgedAt = seconds(20);

/// One of the waiting requests or a new one.
inline Request random_request(Situation& pool) {
  if (!pool.waiting.empty() && !one_in(3)) return pool.waiting[up_to(pool.waiting.size() - 1)];
  Request request = pool.request(static_cast<std::uint32_t>(up_to(pool.jobs.size() - 1)), 1 + up_to(39));
  request.since = kJudgedAt;
  return request;
}

/// Gives the pool what makes every guarantee keepable: nothing drains or is missing, guarantees fit in the static zone, and free
/// and revocable units cover them. Jobs that are in the way hold less.
inline void make_sums_allow(Situation& pool) {
  pool.capacity = 100;
  pool.draining = pool.set_aside = Units{0};
  Units left = pool.rules.static_zone;
  Units used;
  for (JobAccount& job : pool.jobs) {
    Standing& standing = job.standing;
    standing.guarantee = std::min(standing.guarantee, left);
    standing.reserve = std::min(standing.reserve, standing.guarantee);
    left -= standing.guarantee;
    // What a job keeps beyond its guarantee has to come out of what nobody is promised.
    if (standing.on_revoke == OnRevoke::idle || job.held < standing.guarantee) job.held = std::min(job.held, standing.guarantee);
    job.idle = Units{0};
    used += std::max(job.held, standing.reserve);
  }
  const Units room = pool.rules.capacity - pool.rules.critical_reserve;
  for (JobAccount& job : pool.jobs) {
    if (used <= room) break;
    const Units before = std::max(job.held, job.standing.reserve);
    job.held = std::min(job.held, job.standing.guarantee);
    used -= before - std::max(job.held, job.standing.reserve);
  }
}

}  // namespace cupool::policy::test

namespace cupool::policy::test {

inline void showValue(const Situation& pool, std::ostream& out) {
  const Rules& rules = pool.rules;
  out << "pool of " << pool.capacity << ": static " << rules.static_zone.count << ", reserve " << rules.critical_reserve.count
      << ", order " << static_cast<int>(rules.order) << ", aging " << rules.aging << ", bypass " << rules.bypass << ", draining "
      << pool.draining.count << ", set aside " << pool.set_aside.count << '\n';
  for (std::size_t i = 0; i < pool.jobs.size(); ++i) {
    const JobAccount& job = pool.jobs[i];
    const Standing& standing = job.standing;
    out << "  job " << i << ": level " << standing.level << (standing.critical ? " critical" : "") << " guarantee "
        << standing.guarantee.count << " reserve " << standing.reserve.count << " limit " << standing.limit.count << " held "
        << job.held.count << " idle " << job.idle.count << (standing.on_revoke == OnRevoke::park ? " parks" : " keeps")
        << " weight " << standing.weight << " hold " << (standing.max_hold ? standing.max_hold->ns / kSecond.ns : 0) << " since "
        << job.borrowing_since.ns / kSecond.ns << '\n';
  }
  for (const Request& request : pool.waiting) {
    out << "  ticket " << request.ticket << ": job " << request.job << " asks " << request.units.count << ", passed over "
        << request.passed_over << ", returned " << request.returned.count << ", since " << request.since.ns / kSecond.ns << '\n';
  }
}

}  // namespace cupool::policy::test

namespace rc {
template <>
struct Arbitrary<cupool::policy::test::Situation> {
  static Gen<cupool::policy::test::Situation> arbitrary() {
    return gen::exec([] { return cupool::policy::test::random_situation(); });
  }
};
}  // namespace rc
