// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/keeper.h"

#include <algorithm>

#include "policy/decide/rank.h"

namespace cupool::policy {

std::vector<Request> Keeper::requests_by_place() const {
  std::vector<Request> requests;
  requests.reserve(waiting_.size());
  for (const auto& [ticket, request] : waiting_) {
    requests.push_back(request);
    requests.back().job = place_of_.at(request.job);
  }
  return requests;
}

Account Keeper::account(const std::vector<Request>& requests) const {
  return {.capacity = capacity_, .draining = draining_, .set_aside = Units{0}, .jobs = jobs_, .waiting = requests};
}

Verdict Keeper::judge_arrival(std::uint64_t ticket, Instant now) const {
  std::vector<Arrival> arriving;
  for (const auto& [number, lined] : arriving_) arriving.push_back(lined.arrival);
  return decide_admission(rules_, account({}), arriving, arriving_.at(ticket).arrival, now);
}

void Keeper::admit(std::uint64_t ticket) {
  const Lined lined = arriving_.at(ticket);
  arriving_.erase(ticket);
  for (auto& [number, other] : arriving_) other.arrival.passed_over += number < ticket ? 1 : 0;
  place_of_[lined.job] = static_cast<std::uint32_t>(jobs_.size());
  jobs_.push_back({.standing = lined.arrival.standing, .held = Units{0}, .idle = Units{0}});
  id_at_.push_back(lined.job);
  own_standing_.push_back(lined.arrival.standing);
}

Keeper::Judgement Keeper::judge(std::uint64_t ticket, Instant now) const {
  const std::vector<Request> requests = requests_by_place();
  Request request = waiting_.at(ticket);
  request.job = place_of_.at(request.job);
  Judgement judgement;
  judgement.revocations.resize(jobs_.size());
  judgement.verdict = decide(rules_, account(requests), request, now, judgement.revocations);
  judgement.revocations.resize(judgement.verdict.revocations);
  for (Revocation& revocation : judgement.revocations) revocation.job = id_at_[revocation.job];
  return judgement;
}

void Keeper::grant(std::uint64_t ticket, Instant now) {
  const Request granted = waiting_.at(ticket);
  waiting_.erase(ticket);
  for (auto& [number, waiter] : waiting_) waiter.passed_over += passes_over(granted, waiter) ? 1 : 0;
  JobAccount& job = account_of(granted.job);
  const bool borrowed_before = borrowed(job) > 0;
  job.held += granted.units;
  note_borrowing(job, borrowed_before, now);
}

void Keeper::note_borrowing(JobAccount& job, bool borrowed_before, Instant now) {
  if (!borrowed_before && borrowed(job) > 0) job.borrowing_since = now;
}

void Keeper::give_back(JobId job, Units units) {
  JobAccount& account = account_of(job);
  account.held -= std::min(units, account.held);
  account.idle -= std::min(units, account.idle);
}

void Keeper::set_stalled(JobId job, bool stalled) {
  const std::uint32_t place = place_of_.at(job);
  jobs_[place].standing = own_standing_[place];
  if (!stalled) return;
  jobs_[place].standing.on_full = OnFull::wait;
  jobs_[place].standing.max_wait = Duration{kNever.ns};
}

void Keeper::leave(JobId job, bool killed) {
  const std::uint32_t place = place_of_.at(job);
  if (killed) draining_ += jobs_[place].held;
  std::erase_if(waiting_, [job](const auto& entry) { return entry.second.job == job; });
  jobs_.erase(jobs_.begin() + place);
  id_at_.erase(id_at_.begin() + place);
  own_standing_.erase(own_standing_.begin() + place);
  place_of_.erase(job);
  for (auto& [id, at] : place_of_) at -= at > place ? 1 : 0;
}

std::vector<std::uint64_t> Keeper::tickets() const {
  std::vector<std::uint64_t> out;
  for (const auto& [ticket, request] : waiting_) out.push_back(ticket);
  return out;
}

std::vector<std::uint64_t> Keeper::arriving_tickets() const {
  std::vector<std::uint64_t> out;
  for (const auto& [ticket, lined] : arriving_) out.push_back(ticket);
  return out;
}

}  // namespace cupool::policy
