// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "policy/decide/account.h"

/// What of the free units a job may take: rule 4 of decide.h, as a state that takes in thought can be applied to.
namespace cupool::policy {

/// Amounts beyond 2^50 units cannot be real; they are counted as that, so that no sum of an account overflows.
constexpr std::int64_t signed_units(Units units) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  return static_cast<std::int64_t>(units.count < kMost ? units.count : kMost);
}

class Zones {
 public:
  /// A copy of the sums, O(jobs). `account.jobs` must not exceed kMaxJobs and must outlive this.
  Zones(const Rules& rules, const Account& account);

  /// May be negative: more is charged than there is.
  std::int64_t free() const { return free_; }
  /// What `job` holds and has a claim to.
  std::int64_t due(std::uint32_t job) const { return held_[job] + claimed_[job]; }

  /// Free units that `job` may take with regard to others' reservations and the critical reserve; negative by what these lack.
  std::int64_t beside_reserves(std::uint32_t job) const;
  /// Units that are left to `job` up to its limit.
  std::int64_t up_to_limit(std::uint32_t job) const { return signed_units(jobs_[job].standing.limit) - due(job); }
  /// How many units are missing to what covers the guarantees of all, were `job` to borrow with a request for `units`; 0 or less:
  /// none, and none is ever missing for a job that gives back on demand.
  std::int64_t uncovered(std::uint32_t job, std::int64_t units) const;
  /// The most that it could be granted now.
  std::int64_t usable(std::uint32_t job) const;
  /// How many free units are missing before `job` may take `units`; 0 or less: none. A critical class may take all of a request
  /// within its guarantee from the reserve, but of a request beyond it only the borrowed part.
  std::int64_t lacking(std::uint32_t job, std::int64_t units) const;
  /// Whether a request for `units` may be served out of the critical reserve as a whole.
  bool uses_reserve(std::uint32_t job, std::int64_t units) const;

  /// Units that a further guarantee could be promised: free and revocable ones, less what is promised already.
  std::int64_t coverable() const;
  std::int64_t guaranteed() const { return guaranteed_; }

  /// In thought, gives `job` this many of the free units.
  void take(std::uint32_t job, std::int64_t units);
  /// In thought, lets `job` have a claim to this many more units, which are not free yet: they count against its limit and
  /// guarantee, and against what guarantees can be covered with if it does not give back.
  void claim(std::uint32_t job, std::int64_t units);
  /// In thought, admits a job with this guarantee, of which `reserve` is never lent.
  void promise(std::int64_t guarantee, std::int64_t reserve);

  std::int64_t kept_critical() const;
  /// Free units set aside for reservations: for all, and for all but `job`'s.
  std::int64_t kept_reserved() const { return set_aside_ + reserved_idle_; }
  std::int64_t kept_reserved(std::uint32_t job) const;
  std::int64_t kept_promised() const { return promised_idle_; }
  /// What critical classes have borrowed beyond the reserve: only this much of it is anybody's gain when called back.
  std::int64_t critical_surplus() const;

 private:
  void add(std::uint32_t job, std::int64_t sign);
  /// What `job` may take with regard to others' guarantees, and how much of that is within its own.
  struct Cover {
    std::int64_t own = 0, room = 0;
  };
  Cover cover(std::uint32_t job) const;
  std::int64_t kept_critical_when_all_is_called_back() const;

  const Rules& rules_;
  std::span<const JobAccount> jobs_;
  // Of both only the first jobs_.size() are set: clearing all would cost more than the rest.
  std::array<std::int64_t, kMaxJobs> held_;
  std::array<std::int64_t, kMaxJobs> claimed_;
  std::int64_t free_ = 0;
  std::int64_t set_aside_ = 0;
  std::int64_t guaranteed_ = 0;              ///< sum of guarantees
  std::int64_t reserved_idle_ = 0;           ///< reservations not in use
  std::int64_t promised_idle_ = 0;           ///< guarantees not in use, reservations included
  std::int64_t revocable_ = 0;               ///< borrowed by jobs that give back on demand
  std::int64_t critical_borrowed_ = 0;       ///< borrowed by critical classes
  std::int64_t critical_kept_borrowed_ = 0;  ///< of these, by jobs that do not give back
  std::int64_t claimed_for_good_ = 0;        ///< claims of jobs that do not give back
};

constexpr Units units_or_none(std::int64_t units) {
  return Units{units > 0 ? static_cast<std::uint64_t>(units) : 0};
}

}  // namespace cupool::policy
