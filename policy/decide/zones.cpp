// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/zones.h"

#include <algorithm>

namespace cupool::policy {
namespace {

constexpr std::int64_t above_zero(std::int64_t value) {
  return value > 0 ? value : 0;
}

}  // namespace

Zones::Zones(const Rules& rules, const Account& account)
    : rules_(rules),
      jobs_(account.jobs),
      free_(signed_units(account.capacity) - signed_units(account.draining)),
      set_aside_(signed_units(account.set_aside)) {
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    held_[job] = signed_units(jobs_[job].held);
    claimed_[job] = 0;
    guaranteed_ += signed_units(jobs_[job].standing.guarantee);
    free_ -= held_[job];
    add(job, 1);
  }
}

void Zones::add(std::uint32_t job, std::int64_t sign) {
  const Standing& standing = jobs_[job].standing;
  const std::int64_t guarantee = signed_units(standing.guarantee);
  const std::int64_t borrowed = above_zero(held_[job] - guarantee);
  const bool gives_back = standing.on_revoke == OnRevoke::park;
  reserved_idle_ += sign * above_zero(signed_units(standing.reserve) - held_[job]);
  promised_idle_ += sign * above_zero(guarantee - held_[job]);
  if (gives_back) revocable_ += sign * borrowed;
  if (standing.critical) {
    critical_borrowed_ += sign * borrowed;
    if (!gives_back) critical_kept_borrowed_ += sign * borrowed;
  }
}

void Zones::take(std::uint32_t job, std::int64_t units) {
  add(job, -1);
  held_[job] += units;
  free_ -= units;
  add(job, 1);
}

void Zones::claim(std::uint32_t job, std::int64_t units) {
  claimed_[job] += units;
  if (jobs_[job].standing.on_revoke == OnRevoke::idle) claimed_for_good_ += units;
}

void Zones::promise(std::int64_t guarantee, std::int64_t reserve) {
  guaranteed_ += guarantee;
  promised_idle_ += guarantee;
  reserved_idle_ += reserve;
}

std::int64_t Zones::kept_critical() const {
  return above_zero(signed_units(rules_.critical_reserve) - critical_borrowed_);
}

std::int64_t Zones::critical_surplus() const {
  return above_zero(critical_borrowed_ - signed_units(rules_.critical_reserve));
}

std::int64_t Zones::kept_critical_when_all_is_called_back() const {
  return above_zero(signed_units(rules_.critical_reserve) - critical_kept_borrowed_);
}

std::int64_t Zones::kept_reserved(std::uint32_t job) const {
  return kept_reserved() - above_zero(signed_units(jobs_[job].standing.reserve) - held_[job]);
}

std::int64_t Zones::coverable() const {
  return free_ + revocable_ - kept_critical_when_all_is_called_back() - promised_idle_ - set_aside_ - claimed_for_good_;
}

std::int64_t Zones::beside_reserves(std::uint32_t job) const {
  return free_ - kept_reserved(job) - (jobs_[job].standing.critical ? 0 : kept_critical());
}

Zones::Cover Zones::cover(std::uint32_t job) const {
  const Standing& standing = jobs_[job].standing;
  // What this job borrows cannot be called back: all guarantees must stay covered without it. Borrowing by a critical class comes
  // out of the reserve first, which covers no guarantee.
  return {.own = above_zero(signed_units(standing.guarantee) - due(job)),
          .room = coverable() + (standing.critical ? kept_critical_when_all_is_called_back() : 0)};
}

std::int64_t Zones::uncovered(std::uint32_t job, std::int64_t units) const {
  if (jobs_[job].standing.on_revoke == OnRevoke::park) return 0;
  const Cover there = cover(job);
  return units <= there.own ? 0 : units - there.own - there.room;
}

bool Zones::uses_reserve(std::uint32_t job, std::int64_t units) const {
  const std::int64_t within = above_zero(signed_units(jobs_[job].standing.guarantee) - due(job));
  return jobs_[job].standing.critical && (within == 0 || units <= within);
}

std::int64_t Zones::lacking(std::uint32_t job, std::int64_t units) const {
  const std::int64_t there = beside_reserves(job);
  if (!jobs_[job].standing.critical || uses_reserve(job, units)) return units - there;
  // Otherwise the guaranteed part would eat the reserve without using it up, and those of other classes before it would miss its
  // units.
  const std::int64_t within = signed_units(jobs_[job].standing.guarantee) - due(job);
  return std::max(units - there, within + kept_critical() - there);
}

std::int64_t Zones::usable(std::uint32_t job) const {
  const std::int64_t most = std::min(beside_reserves(job), up_to_limit(job));
  if (jobs_[job].standing.on_revoke == OnRevoke::park) return most;
  const Cover there = cover(job);
  return std::min(most, there.own + above_zero(there.room));
}

}  // namespace cupool::policy
