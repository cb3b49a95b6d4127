// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "policy/decide/account.h"
#include "policy/decide/rank.h"
#include "policy/decide/verdict.h"
#include "policy/decide/zones.h"

/// Who must give back for whom: rule 6 of decide.h.
namespace cupool::policy {

/// In whose name units are called back.
struct Caller {
  std::uint32_t job = 0;
  Tier tier = Tier::borrow;
  /// Whether what critical classes give back is all its gain, though it only fills the reserve.
  bool uses_reserve = false;
  /// Only units count that their holder could not have been made to give back otherwise: idle ones of jobs that do not park. These
  /// alone add to what guarantees are covered with.
  bool needs_cover = false;
};

class Victims {
 public:
  /// What could be called back at all is read from the account and `zones` as they are, before anything is taken in thought.
  Victims(const Account& account, const Zones& zones, Instant now);

  bool any() const { return any_; }

  /// Whether what `job` borrows may be called back for `caller`.
  bool yields(std::uint32_t job, const Caller& caller) const;

  /// How many units can be called back for `caller` that it could then use. Constant time for the first kSummedLevels levels.
  std::int64_t callable_for(const Caller& caller) const;

  /// Calls back `units` for `caller` (at most what is callable), after `spoken_for` units that requests of better rank call back
  /// from the same jobs. Writes the targets and returns how many; each entry's job yields to the caller.
  std::uint32_t call_back(const Caller& caller, std::int64_t spoken_for, std::int64_t units, std::uint64_t ticket,
                          std::span<Revocation> out) const;

 private:
  static constexpr std::uint32_t kSummedLevels = 64;  // a policy has at most 64 classes

  struct Sums {
    std::int64_t plain = 0, critical = 0;
    void add(bool is_critical, std::int64_t units) { (is_critical ? critical : plain) += units; }
  };
  void sum_by_level();
  Sums sums_for(const Caller& caller) const;

  bool is_overdue(std::uint32_t job) const;
  /// Borrowed units that the job can be made to give back: all if it parks, else the idle ones.
  std::int64_t revocable(std::uint32_t job) const;

  std::span<const JobAccount> jobs_;
  Instant now_;
  std::int64_t critical_surplus_;
  bool any_ = false;
  // Set only when any_: what is revocable below a level, what is overdue at it, and all.
  std::array<Sums, kSummedLevels + 1> below_, overdue_at_;
  Sums all_;
};

}  // namespace cupool::policy
