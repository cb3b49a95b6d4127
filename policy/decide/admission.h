// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "policy/decide/account.h"
#include "policy/decide/verdict.h"

namespace cupool::policy {

/// A job that wants to start. It holds nothing until it is admitted.
struct Arrival {
  Standing standing;
  std::uint64_t ticket = 0;       ///< from the same counter as requests
  std::uint64_t passed_over = 0;  ///< how many arrivals with a larger ticket were admitted meanwhile
  Instant since{};
  Instant deadline = kNever;
  Patience patience = Patience::may_wait;
};

/// Whether one more job may start: not more than Rules::admission.max_jobs are alive, the guarantees of all live jobs and its own
/// fit in the static zone, and its guarantee can be kept from the first moment (free and revocable units cover it beside all
/// others').
///
/// `arriving` are the jobs that wait to be admitted, at most kMaxRequests, in any order; an entry with the arrival's ticket is
/// itself. They rank by class level with aging and ticket, or by Rules::order as requests do; one that cannot start yet is passed
/// over, after Rules::bypass times its place and its guarantee are kept for it. Called under the same lock as decide(); a job that
/// is admitted is written as live in the same critical section. Pure, thread-safe.
Verdict decide_admission(const Rules& rules, const Account& account, std::span<const Arrival> arriving, const Arrival& arrival,
                         Instant now);

}  // namespace cupool::policy
