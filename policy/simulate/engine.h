// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/simulate/history.h"
#include "policy/simulate/plan.h"

namespace cupool::policy {

/// Runs a plan in virtual time. Every decision is decide()'s and decide_admission()'s, driven as a ledger drives them: after each
/// change every waiter judges itself. Jobs called upon give back after Plan::give_back; a job that parks stands still until the
/// pool gives it its units again. Ends when nothing can happen any more, at Plan::end, or at a bound of history.h.
///
/// Pure: the same plan gives the same history. Plans have at most kMaxJobs jobs alive and kMaxRequests waiting at once; what is
/// beyond is turned away with Rule::bad_account.
History simulate(const Plan& plan);

}  // namespace cupool::policy
