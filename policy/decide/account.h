// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "policy/resolve.h"

/// What `decide` is told: the rules of one pool and who holds and wants what in it. Plain values; whoever keeps the account (a
/// ledger shared between processes, one process alone, a simulation) fills them in.
namespace cupool::policy {

/// A point in time on one clock of the caller's choosing, the same for a whole account. Only waiting and holding times depend on
/// it: a clock that jumps can end a wait early or late, but never makes a grant that counts do not allow.
struct Instant {
  std::uint64_t ns = 0;
  constexpr auto operator<=>(const Instant&) const = default;
};
inline constexpr Instant kNever{std::numeric_limits<std::uint64_t>::max()};

/// `from` plus `span`, kNever when that does not fit.
constexpr Instant after(Instant from, Duration span) {
  return span.ns > kNever.ns - from.ns ? kNever : Instant{from.ns + span.ns};
}

/// The part of the policy's terms that decides, flat: copied, never allocated.
struct Rules {
  Units capacity;          ///< all that the pool may lease when nothing is missing
  Units static_zone;       ///< the most that may be guaranteed to the jobs alive together
  Units critical_reserve;  ///< kept free for what critical classes borrow
  QueueOrder order = QueueOrder::priority;
  std::uint64_t aging = 4;   ///< a waiter rises one level each time it was passed over this often; 0: never
  std::uint64_t bypass = 8;  ///< how often a waiter may be passed over by requests that rank behind it
  std::uint32_t levels = 1;  ///< how many different class priorities there are
  AdmissionTerms admission;
};

/// The rules of a resolved policy. A reserve that no class may use (none is critical) is not kept.
Rules rules_of(const Terms& terms);

/// What one job may have and how it ranks: its JobTerms, flat.
struct Standing {
  Units guarantee;          ///< always available to the job; includes the reserve
  Units reserve;            ///< the part of the guarantee that is never lent to others
  Units limit;              ///< never exceeded
  std::uint32_t level = 0;  ///< class rank: how many different class priorities lie below its own
  bool critical = false;
  OnRevoke on_revoke = OnRevoke::idle;
  OnFull on_full = OnFull::wait;
  Duration max_wait;
  std::optional<Duration> max_hold;
  std::uint64_t weight = 1;
};

Standing standing_of(const Terms& terms, const JobTerms& job);

/// One admitted job: all its processes together.
struct JobAccount {
  Standing standing;
  Units held;                 ///< leased now, charges beside the pool included
  Units idle;                 ///< of these, wholly free inside the job: can be given back without moving anything
  Instant borrowing_since{};  ///< since when it has held more than its guarantee without a break; unused while it does not
};

enum class Patience : std::uint8_t {
  may_wait,
  /// The call may not block (stream capture, a callback, a first attempt that is to fail fast): refused rather than queued.
  cannot_wait,
};

/// One process asking for units. While it waits it stands in Account::waiting; a new request need not.
struct Request {
  std::uint32_t job = 0;  ///< index into Account::jobs
  Units units;
  std::uint64_t ticket = 0;       ///< unique among live requests; later requests carry larger tickets
  std::uint64_t passed_over = 0;  ///< how many requests with a larger ticket were granted while it waited: see passes_over()
  /// Units that others have given back in its name (Revocation::for_ticket) since it began to wait: until it is granted or
  /// withdrawn, they are kept from every other borrower. Whoever gives back adds them.
  Units returned{};
  Instant since{};            ///< when it began to wait
  Instant deadline = kNever;  ///< its own; the class's max_wait may end the wait sooner
  Patience patience = Patience::may_wait;
};

/// Whether a grant to `granted` counts as one more passing over of `waiter`. The keeper of the account adds 1 to the `passed_over`
/// of every live request for which this holds, in the same critical section in which it records the grant.
constexpr bool passes_over(const Request& granted, const Request& waiter) {
  return waiter.ticket < granted.ticket;
}

/// The state of one pool. Sums are never stored: free units are what capacity is left after `held`, `draining`, and may be less
/// than nothing when the pool shrank or a job was charged by force; nothing is granted then.
struct Account {
  Units capacity;                    ///< what the pool can lease now; below Rules::capacity while foreign programs use the device
  Units draining{};                  ///< still charged to dead owners: neither free nor revocable yet
  Units set_aside{};                 ///< kept for jobs that are expected and not admitted yet; 0 where nobody reserves ahead
  std::span<const JobAccount> jobs;  ///< at most kMaxJobs
  /// At most kMaxRequests, in any order. What decide() denies does not stand here: it would be judged again and keeps nothing
  /// meanwhile.
  std::span<const Request> waiting;
};

inline constexpr std::size_t kMaxJobs = 256;
inline constexpr std::size_t kMaxRequests = 256;

/// When the request's wait ends: its own deadline or its class's longest wait, whichever comes first.
constexpr Instant wait_ends(const Request& request, const Standing& standing) {
  const Instant by_class = after(request.since, standing.max_wait);
  return request.deadline < by_class ? request.deadline : by_class;
}

/// Counts tokens by owner into `held`, one per job: owner_of_unit[u] is a job's index, or any larger number for a unit that is not
/// held by one. The account that follows from a token table, in one pass.
void count_held(std::span<const std::uint16_t> owner_of_unit, std::span<JobAccount> jobs);

}  // namespace cupool::policy
