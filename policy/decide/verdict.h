// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "policy/decide/account.h"

namespace cupool::policy {

enum class Outcome : std::uint8_t { grant, wait, deny };

/// What decided: for a grant why it is due, otherwise what stands in its way.
enum class Rule : std::uint8_t {
  // grants
  nothing_asked,     ///< zero units
  guarantee,         ///< within what is guaranteed to the job
  borrow,            ///< free units that nobody of better rank needs
  critical_reserve,  ///< (grant) borrowed by a critical class; (wait, deny) the free units are kept for critical classes
  admitted,          ///< the job may start
  // waits, and denials where waiting is not possible
  turn,           ///< there is enough, but requests of better rank come first
  called_back,    ///< borrowers of lower rank are giving units back for it
  reservations,   ///< the free units are set aside for jobs with a reservation
  promised,       ///< the free units are guaranteed to others, and this job could not give them back when they ask
  draining,       ///< units of a dead job are still on their way back from the driver
  pool_full,      ///< too few free units
  max_jobs,       ///< (admission) as many jobs as the policy allows are alive
  zone_full,      ///< (admission) with this job's guarantee the sum of guarantees would exceed the static zone
  not_coverable,  ///< (admission) the job's guarantee could not be kept now: too much is held by jobs that cannot give back
  // denials for good
  over_limit,     ///< above the job's limit
  over_capacity,  ///< more than the pool could ever give to this class
  over_zone,      ///< (admission) the guarantee alone is larger than the static zone
  bad_request,    ///< names no job of the account
  bad_account,    ///< more jobs or requests than kMaxJobs, kMaxRequests
};

/// Why a request that could have waited was denied.
enum class Ending : std::uint8_t {
  none,         ///< not denied
  by_rule,      ///< waiting could never help
  on_full,      ///< its class refuses instead of waiting
  cannot_wait,  ///< the caller may not block
  deadline,     ///< it has waited as long as it may
};

/// The numbers behind a verdict, all in units, as they were when it was made. For people and reports.
struct Figures {
  Units asked, held, guarantee, limit;
  Units capacity, free, draining;
  Units usable;            ///< what this request could take now if it were alone in the queue
  Units kept_critical;     ///< free units kept for critical classes, from which this request may not take
  Units kept_reserved;     ///< free units set aside for other jobs' reservations
  Units kept_promised;     ///< units that must stay coverable for others' guarantees
  Units ahead;             ///< what requests before it are given or kept first; 0 where that makes no difference
  Units called_back;       ///< asked back from others for this request
  std::uint64_t jobs = 0;  ///< (admission) jobs alive
  std::uint64_t max_jobs = 0;
};

/// "Job `job` is to hold at most `down_to` units, for the request with ticket `for_ticket`." A target, so that writing it twice
/// changes nothing; it lapses when that request is no longer live.
struct Revocation {
  std::uint32_t job = 0;  ///< index into Account::jobs
  Units units;            ///< the part that this request is owed
  Units down_to;          ///< with what better ranked requests ask of it
  std::uint64_t for_ticket = 0;
};

struct Verdict {
  Outcome outcome = Outcome::deny;
  Rule rule = Rule::bad_request;
  Ending ending = Ending::none;
  std::uint32_t rank = 0;         ///< how many live requests stand before this one: 0 is the head of the queue
  std::uint32_t revocations = 0;  ///< how many entries of the caller's list were written; only with Outcome::wait
  Units granted;                  ///< all that was asked, or nothing
  Instant until;                  ///< (wait) when the wait ends
  Figures figures;
};

}  // namespace cupool::policy
