// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/decide.h"

#include <algorithm>
#include <array>

#include "policy/decide/rank.h"
#include "policy/decide/revoke.h"
#include "policy/decide/zones.h"

namespace cupool::policy {
namespace {

/// The live requests that rank before one, best first.
class Queue {
 public:
  Queue(const Rules& rules, const Account& account, const Request& request) : waiting_(account.waiting) {
    const RankKey own = rank_of(rules, account.jobs[request.job], request);
    for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
      const Request& other = waiting_[i];
      if (other.ticket == request.ticket || other.job >= account.jobs.size()) continue;
      const RankKey key = rank_of(rules, account.jobs[other.job], other);
      if (key < own) ahead_[count_++] = {key, i};
    }
    const auto better = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    std::sort(ahead_.begin(), ahead_.begin() + count_, better);
  }

  std::uint32_t count() const { return count_; }
  const Request& operator[](std::uint32_t place) const { return waiting_[ahead_[place].index]; }

 private:
  struct Entry {
    RankKey key;
    std::uint32_t index;
  };
  std::span<const Request> waiting_;
  std::array<Entry, kMaxRequests> ahead_;  // only the first count_ are set
  std::uint32_t count_ = 0;
};

/// One evaluation: the account with what better ranked requests take in thought.
class Judge {
 public:
  Judge(const Rules& rules, const Account& account, const Request& request, Instant now)
      : rules_(rules),
        account_(account),
        request_(request),
        job_(account.jobs[request.job]),
        now_(now),
        zones_(rules, account),
        victims_(account, zones_, now) {}

  Verdict run(std::span<Revocation> out);

 private:
  struct Call {
    Tier tier;
    std::int64_t shortage;  ///< units that have to come back before the request fits
    std::int64_t callable;  ///< units that can be called back for it, after those before it
    /// A guarantee takes what it can get; a borrower disturbs nobody unless that will satisfy it.
    std::int64_t called() const { return tier == Tier::guarantee || callable >= shortage ? std::min(shortage, callable) : 0; }
  };

  Call call_for(const Request& request) const;
  void serve_in_thought(const Request& ahead);
  std::optional<Rule> never() const;
  Rule grant_rule(std::int64_t usable) const;
  Rule obstacle(const Call& call, std::int64_t usable_alone) const;
  Ending ending(const Verdict& verdict) const;
  void note_figures(Figures& figures) const;

  const Rules& rules_;
  const Account& account_;
  const Request& request_;
  const JobAccount& job_;
  Instant now_;
  Zones zones_;
  Victims victims_;
  std::int64_t spoken_for_ = 0;  ///< units called back by those before it
  std::int64_t returning_ = 0;   ///< of these, what is left when they have been served; negative by what they will still lack
};

Judge::Call Judge::call_for(const Request& request) const {
  const std::int64_t asked = signed_units(request.units);
  const Standing& standing = account_.jobs[request.job].standing;
  const bool within = zones_.held(request.job) + asked <= signed_units(standing.guarantee);
  Call call{within ? Tier::guarantee : Tier::borrow, asked - zones_.beside_reserves(request.job) - returning_, 0};
  // Units that come back help against too few free ones, not against a limit or against others' guarantees.
  if (call.shortage > 0 && asked <= zones_.allowance(request.job))
    call.callable = std::max<std::int64_t>(0, victims_.callable_for({request.job, call.tier}) - spoken_for_);
  return call;
}

void Judge::serve_in_thought(const Request& ahead) {
  const std::int64_t asked = signed_units(ahead.units);
  const std::int64_t usable = zones_.usable(ahead.job);
  if (asked <= usable) return zones_.take(ahead.job, asked);
  const Call call = call_for(ahead);
  const bool keeps = call.tier == Tier::guarantee || call.called() > 0 || ahead.passed_over >= rules_.bypass;
  if (!keeps) return;
  const std::int64_t kept = std::max<std::int64_t>(0, usable);
  if (call.called() > 0) {
    spoken_for_ += call.called();
    returning_ += call.called() - (asked - kept);
  }
  zones_.take(ahead.job, kept);
}

std::optional<Rule> Judge::never() const {
  const auto total = checked_add(job_.held.count, request_.units.count);
  if (!total || *total > job_.standing.limit.count) return Rule::over_limit;
  const std::int64_t kept = job_.standing.critical ? 0 : signed_units(rules_.critical_reserve);
  if (signed_units(Units{*total}) > signed_units(rules_.capacity) - kept) return Rule::over_capacity;
  return std::nullopt;
}

Rule Judge::grant_rule(std::int64_t usable) const {
  if (tier_of(job_, request_.units) == Tier::guarantee) return Rule::guarantee;
  const bool needs_reserve = job_.standing.critical && signed_units(request_.units) > usable - zones_.kept_critical();
  return needs_reserve ? Rule::critical_reserve : Rule::borrow;
}

Rule Judge::obstacle(const Call& call, std::int64_t usable_alone) const {
  const std::int64_t asked = signed_units(request_.units);
  if (call.called() > 0) return Rule::called_back;
  if (asked <= usable_alone) return Rule::turn;
  const Zones alone(rules_, account_);
  if (asked > alone.free()) return asked <= alone.free() + signed_units(account_.draining) ? Rule::draining : Rule::pool_full;
  if (asked > alone.allowance(request_.job)) return Rule::promised;
  return asked <= alone.free() - alone.kept_reserved(request_.job) ? Rule::critical_reserve : Rule::reservations;
}

Ending Judge::ending(const Verdict& verdict) const {
  const bool guaranteed = tier_of(job_, request_.units) == Tier::guarantee;
  if (job_.standing.on_full == OnFull::deny && !guaranteed) return Ending::on_full;
  if (request_.patience == Patience::cannot_wait) return Ending::cannot_wait;
  return verdict.until <= now_ ? Ending::deadline : Ending::none;
}

void Judge::note_figures(Figures& figures) const {
  figures.asked = request_.units;
  figures.held = job_.held;
  figures.guarantee = job_.standing.guarantee;
  figures.limit = job_.standing.limit;
  figures.capacity = account_.capacity;
  figures.draining = account_.draining;
  figures.free = units_or_none(zones_.free());
  figures.usable = units_or_none(zones_.usable(request_.job));
  figures.kept_critical = job_.standing.critical ? Units{0} : units_or_none(zones_.kept_critical());
  figures.kept_reserved = units_or_none(zones_.kept_reserved(request_.job));
  figures.kept_promised = units_or_none(zones_.kept_promised());
  figures.jobs = account_.jobs.size();
  figures.max_jobs = rules_.admission.max_jobs;
}

Verdict Judge::run(std::span<Revocation> out) {
  Verdict verdict;
  note_figures(verdict.figures);
  const std::int64_t asked = signed_units(request_.units);
  if (asked == 0) {
    verdict.outcome = Outcome::grant;
    verdict.rule = Rule::nothing_asked;
    return verdict;
  }
  if (const auto rule = never()) {
    verdict.rule = *rule;
    verdict.ending = Ending::by_rule;
    return verdict;
  }
  const std::int64_t usable_alone = zones_.usable(request_.job), free_alone = zones_.free();
  const Queue queue(rules_, account_, request_);
  for (std::uint32_t place = 0; place < queue.count(); ++place) serve_in_thought(queue[place]);
  verdict.rank = queue.count();
  verdict.figures.ahead = units_or_none(free_alone - zones_.free());
  const std::int64_t usable = zones_.usable(request_.job);
  if (asked <= usable) {
    verdict.outcome = Outcome::grant;
    verdict.granted = request_.units;
    verdict.rule = grant_rule(usable);
    return verdict;
  }
  const Call call = call_for(request_);
  verdict.rule = obstacle(call, usable_alone);
  verdict.until = wait_ends(request_, job_.standing);
  verdict.ending = ending(verdict);
  if (verdict.ending != Ending::none) return verdict;
  verdict.outcome = Outcome::wait;
  if (call.called() > 0) {
    verdict.figures.called_back = units_or_none(call.called());
    verdict.revocations = victims_.call_back({request_.job, call.tier}, spoken_for_, call.called(), request_.ticket, out);
  }
  return verdict;
}

Verdict refused(Rule rule) {
  Verdict verdict;
  verdict.rule = rule;
  verdict.ending = Ending::by_rule;
  return verdict;
}

}  // namespace

Verdict decide(const Rules& rules, const Account& account, const Request& request, Instant now, std::span<Revocation> revocations) {
  if (account.jobs.size() > kMaxJobs || account.waiting.size() > kMaxRequests) return refused(Rule::bad_account);
  if (request.job >= account.jobs.size()) return refused(Rule::bad_request);
  return Judge(rules, account, request, now).run(revocations);
}

Units usable(const Rules& rules, const Account& account, std::uint32_t job) {
  if (account.jobs.size() > kMaxJobs || job >= account.jobs.size()) return Units{0};
  const Zones zones(rules, account);
  return units_or_none(zones.usable(job));
}

}  // namespace cupool::policy
