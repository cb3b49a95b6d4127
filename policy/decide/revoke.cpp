// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/revoke.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace cupool::policy {
namespace {

struct Victim {
  std::uint32_t job = 0;
  std::uint32_t level = 0;
  bool critical = false;
  bool overdue = false;
  std::int64_t borrowed = 0;
  std::int64_t revocable = 0;
  std::int64_t weight = 1;

  /// Lower levels give first, overdue before others. Critical borrowers of a level come last: what they give fills the reserve
  /// first.
  auto turn() const { return std::tuple(level, critical, !overdue); }
};

/// Units of `victim` that lie above the share `level` (borrowed per weight in 65,536ths).
std::int64_t above_share(const Victim& victim, std::int64_t level) {
  return std::clamp<std::int64_t>(victim.borrowed - level * victim.weight / static_cast<std::int64_t>(kMaxWeight), 0,
                                  victim.revocable);
}

std::int64_t sum_above_share(std::span<const Victim> group, std::int64_t level) {
  std::int64_t sum = 0;
  for (const Victim& victim : group) sum += above_share(victim, level);
  return sum;
}

/// The lowest share above which no more than `units` lie.
std::int64_t water_level(std::span<const Victim> group, std::int64_t units) {
  std::int64_t low = 0, high = 0;
  for (const Victim& victim : group)
    high = std::max(high, static_cast<std::int64_t>(share_of(static_cast<std::uint64_t>(victim.borrowed), 1)));
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (sum_above_share(group, middle) <= units)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// How the group shares the giving of `units`: the largest borrowed per weight is levelled down first, as if unit by unit, so that
/// giving more never takes less from anybody. `given[i]` belongs to `group[i]`.
void level_down(std::span<const Victim> group, std::int64_t units, std::span<std::int64_t> given) {
  const std::int64_t level = water_level(group, units);
  std::int64_t rest = units;
  for (std::size_t i = 0; i < group.size(); ++i) rest -= given[i] = above_share(group[i], level);
  if (level == 0) return;
  for (std::size_t i = 0; i < group.size() && rest > 0; ++i) {
    const std::int64_t more = std::min(rest, above_share(group[i], level - 1) - given[i]);
    given[i] += more;
    rest -= more;
  }
}

std::int64_t total_of(std::span<const Victim> group) {
  std::int64_t sum = 0;
  for (const Victim& victim : group) sum += victim.revocable;
  return sum;
}

/// The first run of victims whose turn is the same.
std::span<const Victim> first_group(std::span<const Victim> victims) {
  std::size_t end = 1;
  while (end < victims.size() && victims[end].turn() == victims[0].turn()) ++end;
  return victims.first(end);
}

}  // namespace

Victims::Victims(const Account& account, const Zones& zones, Instant now)
    : jobs_(account.jobs), now_(now), critical_surplus_(zones.critical_surplus()) {
  for (std::uint32_t job = 0; job < jobs_.size() && !any_; ++job) any_ = revocable(job) > 0;
  if (any_) sum_by_level();
}

void Victims::sum_by_level() {
  below_ = {};
  overdue_at_ = {};
  all_ = {};
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    const Standing& standing = jobs_[job].standing;
    const std::int64_t units = revocable(job);
    if (units == 0) continue;
    const std::uint32_t level = std::min(standing.level, kSummedLevels);
    below_[level].add(standing.critical, units);  // at the level: summed up below
    if (is_overdue(job)) overdue_at_[level].add(standing.critical, units);
    all_.add(standing.critical, units);
  }
  Sums sum;
  for (Sums& at : below_) {
    const Sums here = at;
    at = sum;
    sum.plain += here.plain;
    sum.critical += here.critical;
  }
}

Victims::Sums Victims::sums_for(const Caller& caller) const {
  const JobAccount& own = jobs_[caller.job];
  Sums sums;
  if (caller.needs_cover || own.standing.level >= kSummedLevels) {
    for (std::uint32_t job = 0; job < jobs_.size(); ++job)
      if (yields(job, caller)) sums.add(jobs_[job].standing.critical, revocable(job));
  } else if (caller.tier == Tier::guarantee) {
    // A job that may still ask within its guarantee has borrowed nothing, but for claims in thought: leave it out all the same.
    sums = all_;
    sums.add(own.standing.critical, -revocable(caller.job));
  } else {
    sums = below_[own.standing.level];
    if (is_overdue(caller.job)) return sums;
    sums.plain += overdue_at_[own.standing.level].plain;
    sums.critical += overdue_at_[own.standing.level].critical;
  }
  return sums;
}

bool Victims::is_overdue(std::uint32_t job) const {
  const JobAccount& account = jobs_[job];
  return account.standing.max_hold && borrowed(account) > 0 && after(account.borrowing_since, *account.standing.max_hold) <= now_;
}

std::int64_t Victims::revocable(std::uint32_t job) const {
  const JobAccount& account = jobs_[job];
  const std::int64_t all = signed_units(Units{borrowed(account)});
  return account.standing.on_revoke == OnRevoke::park ? all : std::min(all, signed_units(account.idle));
}

bool Victims::yields(std::uint32_t job, const Caller& caller) const {
  const Standing& standing = jobs_[job].standing;
  if (job == caller.job || borrowed(jobs_[job]) == 0) return false;
  if (caller.needs_cover && (standing.on_revoke == OnRevoke::park || (standing.critical && !caller.uses_reserve))) return false;
  if (caller.tier == Tier::guarantee) return true;
  const std::uint32_t own = jobs_[caller.job].standing.level, other = standing.level;
  return other < own || (other == own && is_overdue(job) && !is_overdue(caller.job));
}

std::int64_t Victims::callable_for(const Caller& caller) const {
  if (!any_) return 0;
  const Sums sums = sums_for(caller);
  return sums.plain + (caller.uses_reserve ? sums.critical : std::min(sums.critical, critical_surplus_));
}

std::uint32_t Victims::call_back(const Caller& caller, std::int64_t spoken_for, std::int64_t units, std::uint64_t ticket,
                                 std::span<Revocation> out) const {
  std::array<Victim, kMaxJobs> victims;
  std::size_t count = 0;
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    const Standing& standing = jobs_[job].standing;
    const std::int64_t amount = revocable(job);
    if (amount == 0 || !yields(job, caller)) continue;
    victims[count++] = {job,
                        standing.level,
                        standing.critical,
                        is_overdue(job),
                        signed_units(Units{borrowed(jobs_[job])}),
                        amount,
                        static_cast<std::int64_t>(std::clamp<std::uint64_t>(standing.weight, 1, kMaxWeight))};
  }
  const auto by_turn = [](const Victim& a, const Victim& b) { return std::tuple(a.turn(), a.job) < std::tuple(b.turn(), b.job); };
  std::sort(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(count), by_turn);

  std::int64_t of_critical = caller.uses_reserve ? std::numeric_limits<std::int64_t>::max() : critical_surplus_;
  std::int64_t before_us = spoken_for, all = spoken_for + units;
  std::uint32_t written = 0;
  for (std::span<const Victim> rest(victims.data(), count); !rest.empty() && all > 0;) {
    const std::span<const Victim> group = first_group(rest);
    rest = rest.subspan(group.size());
    const std::int64_t most = group[0].critical ? std::min(total_of(group), of_critical) : total_of(group);
    const std::int64_t given = std::min(all, most), given_before = std::min(before_us, most);
    std::array<std::int64_t, kMaxJobs> with_ours, without;
    level_down(group, given, with_ours);
    level_down(group, given_before, without);
    for (std::size_t i = 0; i < group.size() && written < out.size(); ++i) {
      if (with_ours[i] <= without[i]) continue;
      const std::int64_t left = signed_units(jobs_[group[i].job].held) - with_ours[i];
      out[written++] = {group[i].job, units_or_none(with_ours[i] - without[i]), units_or_none(left), ticket};
    }
    if (group[0].critical) of_critical -= given;
    all -= given;
    before_us -= given_before;
  }
  return written;
}

}  // namespace cupool::policy
