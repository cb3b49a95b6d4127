// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/decide.h"

#include <algorithm>
#include <array>

#include "policy/decide/earmarks.h"
#include "policy/decide/rank.h"
#include "policy/decide/revoke.h"
#include "policy/decide/zones.h"

namespace cupool::policy {
namespace {

/// The live requests that rank before one.
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
  }

  /// What they ask for together, at most `most`.
  std::int64_t asked(std::int64_t most) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < count_ && sum < most; ++i) sum += signed_units((*this)[i].units);
    return std::min(sum, most);
  }
  bool has_sibling_of(std::uint32_t job) const {
    for (std::uint32_t i = 0; i < count_; ++i)
      if ((*this)[i].job == job) return true;
    return false;
  }

  /// Best first; before, the order is any.
  void sort() {
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
        victims_(account, zones_, now),
        earmarks_(account, now) {}

  Verdict run(std::span<Revocation> out);
  std::int64_t usable(const Request& request) const;

 private:
  struct Call {
    Caller caller;
    std::int64_t shortage;  ///< units that have to come back before the request fits
    std::int64_t callable;  ///< units that can be called back for it, after those before it
    bool comes = false;     ///< what those before it call back will do for it as well
    /// A guarantee takes what it can get; a borrower disturbs nobody unless that will satisfy it.
    std::int64_t called() const {
      return comes ? 0 : caller.tier == Tier::guarantee || callable >= shortage ? std::min(shortage, callable) : 0;
    }
  };

  Call call_for(const Request& request) const;
  void serve_in_thought(const Request& ahead);
  std::optional<Rule> never(const Request& request) const;
  Rule grant_rule() const;
  Rule obstacle(const Call& call, bool fits_alone) const;
  /// Why this request, not fitting now, may not go on waiting.
  Ending ending(const Request& request) const;
  bool fits(const Request& request) const;
  /// Free units that are kept for requests in whose name they were given back.
  std::int64_t earmarked_against(const Request& request) const;
  bool spares_those_ahead() const;
  bool is_plenty(const Queue& queue) const;
  void note_figures(Figures& figures) const;

  const Rules& rules_;
  const Account& account_;
  const Request& request_;
  const JobAccount& job_;
  Instant now_;
  Zones zones_;
  Victims victims_;
  Earmarks earmarks_;
  bool others_took_ = false;     ///< a request ahead, of a class that is not critical, has taken its units in thought
  std::int64_t spoken_for_ = 0;  ///< units called back by those before it
  std::int64_t returning_ = 0;   ///< of these, what is left when they have been served; negative by what they will still lack
};

Judge::Call Judge::call_for(const Request& request) const {
  const std::int64_t asked = signed_units(request.units);
  const Standing& standing = account_.jobs[request.job].standing;
  const bool within = zones_.due(request.job) + asked <= signed_units(standing.guarantee);
  const std::int64_t uncovered = zones_.uncovered(request.job, asked);
  const Caller caller{request.job, within ? Tier::guarantee : Tier::borrow, zones_.uses_reserve(request.job, asked), uncovered > 0};
  const std::int64_t lacking = zones_.lacking(request.job, asked) + earmarked_against(request) - returning_;
  Call call{caller, std::max(lacking, uncovered), 0, false};
  if (asked > zones_.up_to_limit(request.job)) return call;  // units that come back do not help against a limit
  call.comes = call.shortage <= 0;
  if (!call.comes) call.callable = std::max<std::int64_t>(0, victims_.callable_for(caller) - spoken_for_);
  return call;
}

void Judge::serve_in_thought(const Request& ahead) {
  const std::int64_t asked = signed_units(ahead.units);
  if (fits(ahead)) {
    zones_.take(ahead.job, asked);
    earmarks_.use(ahead.ticket, asked);
    others_took_ |= !account_.jobs[ahead.job].standing.critical;
    return;
  }
  // It will be refused, and keeps nothing until then.
  if (ending(ahead) != Ending::none || never(ahead)) return;
  const Call call = call_for(ahead);
  const bool keeps = call.caller.tier == Tier::guarantee || call.comes || call.called() > 0 || ahead.passed_over >= rules_.bypass;
  if (!keeps) return;
  const std::int64_t kept = std::clamp<std::int64_t>(usable(ahead), 0, asked);
  if (call.comes || call.called() > 0) {
    spoken_for_ += call.called();
    returning_ += call.called() - (asked - kept);
  }
  zones_.take(ahead.job, kept);
  earmarks_.use(ahead.ticket, kept);
  zones_.claim(ahead.job, asked - kept);
}

std::optional<Rule> Judge::never(const Request& request) const {
  const JobAccount& job = account_.jobs[request.job];
  const auto total = checked_add(job.held.count, request.units.count);
  if (!total || *total > job.standing.limit.count) return Rule::over_limit;
  const std::int64_t kept = job.standing.critical ? 0 : signed_units(rules_.critical_reserve);
  if (signed_units(Units{*total}) > signed_units(rules_.capacity) - kept) return Rule::over_capacity;
  return std::nullopt;
}

Rule Judge::grant_rule() const {
  if (tier_of(job_, request_.units) == Tier::guarantee) return Rule::guarantee;
  const bool needs_reserve = job_.standing.critical && signed_units(request_.units) > usable(request_) - zones_.kept_critical();
  return needs_reserve ? Rule::critical_reserve : Rule::borrow;
}

Rule Judge::obstacle(const Call& call, bool fits_alone) const {
  const std::int64_t asked = signed_units(request_.units);
  if (call.comes || call.called() > 0) return Rule::called_back;
  if (fits_alone) return Rule::turn;
  const Zones alone(rules_, account_);
  if (asked > alone.free()) return asked <= alone.free() + signed_units(account_.draining) ? Rule::draining : Rule::pool_full;
  if (alone.uncovered(request_.job, asked) > 0) return Rule::promised;
  return asked <= alone.free() - alone.kept_reserved(request_.job) ? Rule::critical_reserve : Rule::reservations;
}

Ending Judge::ending(const Request& request) const {
  const JobAccount& job = account_.jobs[request.job];
  const bool guaranteed = tier_of(job, request.units) == Tier::guarantee;
  if (job.standing.on_full == OnFull::deny && !guaranteed) return Ending::on_full;
  if (request.patience == Patience::cannot_wait) return Ending::cannot_wait;
  return wait_ends(request, job.standing) <= now_ ? Ending::deadline : Ending::none;
}

bool Judge::fits(const Request& request) const {
  const std::int64_t asked = signed_units(request.units);
  return asked <= zones_.up_to_limit(request.job) && zones_.uncovered(request.job, asked) <= 0 &&
         zones_.lacking(request.job, asked) + earmarked_against(request) <= 0;
}

/// Whether there is so much that it fits whatever those ahead take, in whatever order: the common case of a long queue, decided
/// without sorting.
bool Judge::is_plenty(const Queue& queue) const {
  const std::int64_t left =
      std::min(zones_.free() - zones_.kept_reserved() - zones_.kept_critical() - earmarks_.all(), zones_.coverable());
  const std::int64_t asked = signed_units(request_.units);
  return asked <= left && asked <= zones_.up_to_limit(request_.job) && queue.asked(left) + asked <= left &&
         !queue.has_sibling_of(request_.job);
}

std::int64_t Judge::earmarked_against(const Request& request) const {
  const JobAccount& job = account_.jobs[request.job];
  const Earmarks::Kept kept = earmarks_.against(request.ticket, tier_of(job, request.units));
  // From a class that is not critical the reserve is kept anyway: only what critical classes will take beyond it counts.
  const std::int64_t beyond =
      job.standing.critical ? kept.reserve : std::max<std::int64_t>(0, kept.reserve - zones_.kept_critical());
  // What was given back may have gone elsewhere since, to a guarantee for instance: no more can be kept than is free.
  return std::min(kept.plain + beyond, std::max<std::int64_t>(0, zones_.free()));
}

std::int64_t Judge::usable(const Request& request) const {
  return std::min(zones_.usable(request.job), zones_.beside_reserves(request.job) - earmarked_against(request));
}

bool Judge::spares_those_ahead() const {
  if (!job_.standing.critical || !others_took_) return true;
  // A guarantee of a critical class may be served out of what is kept for critical classes. If it were served before those ahead
  // have taken their units, they would miss what then still has to be kept.
  Zones served = zones_;
  served.take(request_.job, signed_units(request_.units));
  return served.free() >= served.kept_critical() + served.kept_reserved();
}

void Judge::note_figures(Figures& figures) const {
  figures.asked = request_.units;
  figures.held = job_.held;
  figures.guarantee = job_.standing.guarantee;
  figures.limit = job_.standing.limit;
  figures.capacity = account_.capacity;
  figures.draining = account_.draining;
  figures.free = units_or_none(zones_.free());
  figures.usable = units_or_none(usable(request_));
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
  if (const auto rule = never(request_)) {
    verdict.rule = *rule;
    verdict.ending = Ending::by_rule;
    return verdict;
  }
  const bool fits_alone = fits(request_);
  const std::int64_t free_alone = zones_.free();
  Queue queue(rules_, account_, request_);
  verdict.rank = queue.count();
  const bool plenty = is_plenty(queue);
  // Those ahead cannot change anything either when it does not even fit alone and nothing can be called back.
  if (!plenty && (fits_alone || victims_.any())) {
    queue.sort();
    for (std::uint32_t place = 0; place < queue.count(); ++place) serve_in_thought(queue[place]);
    verdict.figures.ahead = units_or_none(free_alone - zones_.free());
  }
  if (plenty || (fits(request_) && spares_those_ahead())) {
    verdict.outcome = Outcome::grant;
    verdict.granted = request_.units;
    verdict.rule = grant_rule();
    return verdict;
  }
  const Call call = call_for(request_);
  verdict.rule = obstacle(call, fits_alone);
  verdict.until = wait_ends(request_, job_.standing);
  verdict.ending = ending(request_);
  if (verdict.ending != Ending::none) return verdict;
  verdict.outcome = Outcome::wait;
  if (call.called() > 0) {
    verdict.figures.called_back = units_or_none(call.called());
    verdict.revocations = victims_.call_back(call.caller, spoken_for_, call.called(), request_.ticket, out);
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

Units usable(const Rules& rules, const Account& account, const Request& request) {
  if (account.jobs.size() > kMaxJobs || account.waiting.size() > kMaxRequests || request.job >= account.jobs.size())
    return Units{0};
  return units_or_none(Judge(rules, account, request, Instant{0}).usable(request));
}

}  // namespace cupool::policy
