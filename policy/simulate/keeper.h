// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policy/decide/admission.h"
#include "policy/decide/decide.h"

namespace cupool::policy {

/// Keeps the account of one pool in memory, as a ledger would: jobs are admitted, ask for themselves, give back, leave and die, and
/// every decision is decide()'s. Knows jobs by numbers of the caller's choosing. No time of its own. Not thread-safe.
class Keeper {
 public:
  using JobId = std::uint32_t;

  explicit Keeper(const Rules& rules) : rules_(rules), capacity_(rules.capacity) {}

  std::uint64_t next_ticket() { return next_ticket_++; }

  // Admission. A job stands in line from line_up() until it is admitted or withdrawn.
  void line_up(JobId job, const Arrival& arrival) { arriving_.emplace(arrival.ticket, Lined{job, arrival}); }
  Verdict judge_arrival(std::uint64_t ticket, Instant now) const;
  void admit(std::uint64_t ticket);
  void withdraw_arrival(std::uint64_t ticket) { arriving_.erase(ticket); }

  // Requests. `Request::job` is the caller's number here.
  void enqueue(const Request& request) { waiting_.emplace(request.ticket, request); }
  struct Judgement {
    Verdict verdict;
    std::vector<Revocation> revocations;  ///< Revocation::job is the caller's number
  };
  Judgement judge(std::uint64_t ticket, Instant now) const;
  /// Leases the units, removes the request, and counts whom it passed over.
  void grant(std::uint64_t ticket, Instant now);
  void withdraw(std::uint64_t ticket) { waiting_.erase(ticket); }
  /// A request that needs more than when it was made keeps its place.
  void enlarge(std::uint64_t ticket, Units by) { waiting_.at(ticket).units += by; }

  /// Units that were given back in a waiting request's name are kept for it.
  void add_returned(std::uint64_t ticket, Units units) { waiting_.at(ticket).returned += units; }

  /// Gives units back, idle ones first; at most what is held.
  void give_back(JobId job, Units units);
  void set_idle(JobId job, Units units) { account_of(job).idle = units; }
  /// From now on the job's requests wait as long as it takes, whatever its class says; or again as its class says.
  void set_stalled(JobId job, bool stalled);
  /// Removes the job; with `killed` its units stay charged until drained().
  void leave(JobId job, bool killed);
  void drained(Units units) { draining_ -= units; }
  void set_capacity(Units capacity) { capacity_ = capacity; }

  const JobAccount& account_of(JobId job) const { return jobs_[place_of_.at(job)]; }
  bool is_live(JobId job) const { return place_of_.contains(job); }
  bool is_waiting(std::uint64_t ticket) const { return waiting_.contains(ticket); }
  const Request& request(std::uint64_t ticket) const { return waiting_.at(ticket); }
  std::vector<std::uint64_t> tickets() const;
  std::vector<std::uint64_t> arriving_tickets() const;
  JobId arriving_job(std::uint64_t ticket) const { return arriving_.at(ticket).job; }
  std::size_t live_jobs() const { return jobs_.size(); }

 private:
  struct Lined {
    JobId job;
    Arrival arrival;
  };

  JobAccount& account_of(JobId job) { return jobs_[place_of_.at(job)]; }
  /// The requests with jobs by their place in the account.
  std::vector<Request> requests_by_place() const;
  Account account(const std::vector<Request>& requests) const;
  void note_borrowing(JobAccount& job, bool borrowed_before, Instant now);

  Rules rules_;
  Units capacity_, draining_{};
  std::uint64_t next_ticket_ = 1;
  std::vector<JobAccount> jobs_;
  std::vector<JobId> id_at_;            ///< whose account stands at a place
  std::vector<Standing> own_standing_;  ///< as its class says, by place
  std::map<JobId, std::uint32_t> place_of_;
  std::map<std::uint64_t, Request> waiting_;  ///< by ticket
  std::map<std::uint64_t, Lined> arriving_;   ///< by ticket
};

}  // namespace cupool::policy
