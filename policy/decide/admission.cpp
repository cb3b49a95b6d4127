// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/admission.h"

#include <algorithm>
#include <array>

#include "policy/decide/rank.h"
#include "policy/decide/zones.h"

namespace cupool::policy {
namespace {

Instant wait_end_of(const Rules& rules, const Arrival& arrival) {
  return std::min(arrival.deadline, after(arrival.since, rules.admission.max_wait));
}

RankKey rank_of(const Rules& rules, const Arrival& arrival) {
  return rank_of_arrival(rules, arrival.standing.level, arrival.passed_over, wait_end_of(rules, arrival), arrival.ticket);
}

/// The account with what better ranked arrivals take in thought.
class Gate {
 public:
  Gate(const Rules& rules, const Account& account) : rules_(rules), zones_(rules, account), jobs_(account.jobs.size()) {}

  /// What keeps the job out, or Rule::admitted.
  Rule obstacle(const Standing& standing) const {
    const std::int64_t guarantee = signed_units(standing.guarantee);
    if (jobs_ >= std::min<std::uint64_t>(rules_.admission.max_jobs, kMaxJobs)) return Rule::max_jobs;
    if (guarantee == 0) return Rule::admitted;
    if (zones_.guaranteed() + guarantee > signed_units(rules_.static_zone)) return Rule::zone_full;
    return guarantee > zones_.coverable() ? Rule::not_coverable : Rule::admitted;
  }

  void admit(const Standing& standing) {
    ++jobs_;
    zones_.promise(signed_units(standing.guarantee), signed_units(standing.reserve));
  }

  void pass_by(const Arrival& ahead) {
    if (obstacle(ahead.standing) == Rule::admitted || ahead.passed_over >= rules_.bypass) admit(ahead.standing);
  }

  const Zones& zones() const { return zones_; }

 private:
  const Rules& rules_;
  Zones zones_;
  std::uint64_t jobs_;
};

struct Place {
  RankKey key;
  std::size_t index = 0;
};

std::size_t find_ahead(const Rules& rules, std::span<const Arrival> arriving, const Arrival& arrival, std::span<Place> ahead) {
  const RankKey own = rank_of(rules, arrival);
  std::size_t count = 0;
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    const RankKey key = rank_of(rules, arriving[i]);
    if (arriving[i].ticket != arrival.ticket && key < own) ahead[count++] = {key, i};
  }
  std::sort(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Place& a, const Place& b) { return a.key < b.key; });
  return count;
}

Ending ending_of(const Rules& rules, const Arrival& arrival, Instant until, Instant now) {
  if (rules.admission.on_full == OnFull::deny) return Ending::on_full;
  if (arrival.patience == Patience::cannot_wait) return Ending::cannot_wait;
  return until <= now ? Ending::deadline : Ending::none;
}

void note_figures(Figures& figures, const Rules& rules, const Account& account, const Zones& zones, const Arrival& arrival) {
  figures.asked = arrival.standing.guarantee;
  figures.guarantee = arrival.standing.guarantee;
  figures.limit = arrival.standing.limit;
  figures.capacity = account.capacity;
  figures.draining = account.draining;
  figures.free = units_or_none(zones.free());
  figures.usable = units_or_none(zones.coverable());
  figures.kept_promised = units_or_none(zones.guaranteed());
  figures.jobs = account.jobs.size();
  figures.max_jobs = rules.admission.max_jobs;
}

}  // namespace

Verdict decide_admission(const Rules& rules, const Account& account, std::span<const Arrival> arriving, const Arrival& arrival,
                         Instant now) {
  Verdict verdict;
  verdict.ending = Ending::by_rule;
  verdict.rule = Rule::bad_account;
  if (account.jobs.size() > kMaxJobs || arriving.size() > kMaxRequests) return verdict;
  Gate gate(rules, account);
  note_figures(verdict.figures, rules, account, gate.zones(), arrival);
  verdict.rule = Rule::over_zone;
  if (arrival.standing.guarantee > rules.static_zone) return verdict;

  const Rule alone = gate.obstacle(arrival.standing);
  std::array<Place, kMaxRequests> ahead;
  const std::size_t count = find_ahead(rules, arriving, arrival, ahead);
  for (std::size_t place = 0; place < count; ++place) gate.pass_by(arriving[ahead[place].index]);
  verdict.rank = static_cast<std::uint32_t>(count);
  verdict.rule = gate.obstacle(arrival.standing);
  verdict.ending = Ending::none;
  if (verdict.rule == Rule::admitted) {
    verdict.outcome = Outcome::grant;
    return verdict;
  }
  if (alone == Rule::admitted) verdict.rule = Rule::turn;
  verdict.until = wait_end_of(rules, arrival);
  verdict.ending = ending_of(rules, arrival, verdict.until, now);
  if (verdict.ending == Ending::none) verdict.outcome = Outcome::wait;
  return verdict;
}

}  // namespace cupool::policy
