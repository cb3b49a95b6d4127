// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "policy/decide/account.h"
#include "policy/decide/verdict.h"

/// Who may have what: values in, verdict out. Same values, same verdict; no clock, lock, allocation or state. Thread-safe.
///
/// How a ledger uses it ("waiters pull"). Under its exclusion lock a process builds the Account from the records, calls decide()
/// for its own request, and acts on its own behalf alone:
///  - grant: writes the tokens, removes its request, adds 1 to `passed_over` of every live request for which passes_over() holds,
///    unlocks, and only then creates memory. Never: decide, unlock, take.
///  - wait: writes its request (with the next ticket the first time) and the revocations (targets in the victims' records),
///  unlocks,
///    sleeps until something changed or `until`, and evaluates again. Nobody grants on another's behalf, so nothing is lost when
///    one dies.
///  - deny: removes its request if it stood in the queue, unlocks, reports the reason (reason.h).
/// Whoever gives units back, dies, leaves or withdraws wakes the waiters. A process with a target above which it holds units gives
/// back at its next safe point; it need not wait for anything to do so.
///
/// The order of things:
///  1. A request above the job's limit, or above what its class could ever get, is denied at once.
///  2. *Tiers.* A request that stays within its job's guarantee comes before every request that borrows.
///  3. *Rank* inside a tier, by Rules::order:
///       priority           class level, then the smaller borrowed / weight (weighted max-min), then the ticket
///       arrival            the ticket alone
///       earliest_deadline  class level, then the earlier end of the wait, then the ticket
///       latest_deadline    class level, then the later end of the wait, then the ticket
///     where the class level rises by one for each `aging` times that the request was passed over.
///  4. *What a request may take* of the free units: not the idle part of others' reservations; not, unless its class is critical,
///  what is
///     left of the critical reserve (critical borrowing uses the reserve up first; a critical request within its guarantee may be
///     served out of it, the guaranteed part of a larger one may not); and, if its job cannot give back on demand (OnRevoke::idle)
///     and it borrows, nothing that would leave the guarantees of all live jobs uncovered by free and revocable units. The static
///     zone bounds the sum of guarantees at admission; whatever of it is not in use is lent under these rules.
///  5. *The queue.* Requests of better rank are served first in thought: one that fits takes its units; one that does not, keeps
///  what
///     it could use already if it is within its guarantee, or is owed revoked units, or was passed over Rules::bypass times. Any
///     other is passed over, so that small requests need not stand behind a large one. What is left decides.
///  6. *Revocation* runs one way. A request within its guarantee may call back what any other job borrows; one that borrows may
///  call back
///     what jobs of strictly lower level borrow, and what jobs of its own level have held past their max_hold unless its own job is
///     past its own. Nothing within a guarantee is ever called back. Aging does not count here. A job that has borrowed can only
///     ask as a borrower, so each wait-for edge leads to a strictly lower (tier, level, not overdue): there is no cycle among any
///     number of jobs. Lower levels give first; within a level the largest borrowed / weight is levelled down first. A borrower
///     calls back only when that will satisfy it.
///
/// What follows (each is a property test):
///  - Never above limit or capacity; the critical reserve goes to critical classes only.
///  - While all guarantees fit in the capacity and nothing drains, a request within its guarantee is granted or called back for in
///  full.
///  - Nobody starves: with `aging` > 0, at most levels x aging + (live requests - 1) + bypass requests of its own tier that came
///  later take
///    units that a waiter could have used (a critical guarantee served out of the reserve excepted). Borrowers may starve behind
///    continuous guaranteed demand: that is what a guarantee means, and their deadline ends it. Arrival order: at most `bypass`.
///  - One more free unit never makes a verdict worse, unless it is the very unit with which a better ranked waiter is now served:
///  reading
///    verdicts in rank order, the first that differs is better.
namespace cupool::policy {

/// Judges `request` at time `now`. Revocations are written to `revocations`, as many as Verdict::revocations says; give it room for
/// account.jobs.size() entries, what does not fit is left out (and asked for at the next evaluation). Entries of account.waiting
/// with the request's own ticket are the request itself. About 9 KiB of stack.
///
/// Outcome::grant: `granted` equals what was asked; there are no partial grants.
/// Outcome::wait: until Verdict::until. Never for a request whose class denies when full, whose caller cannot wait, or whose time
/// is over (these are denied with the rule that stood in the way and the Ending); a request within its guarantee waits even if its
/// class denies when full.
Verdict decide(const Rules& rules, const Account& account, const Request& request, Instant now, std::span<Revocation> revocations);

/// How many units the job of `request` could be granted now if nobody were served before it; `request.units` says what it would be
/// asked for (within the guarantee or beyond). What a pool that grows by more than it needs goes by.
Units usable(const Rules& rules, const Account& account, const Request& request);

}  // namespace cupool::policy
