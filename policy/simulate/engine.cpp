// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/engine.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "policy/decide/rank.h"
#include "policy/simulate/keeper.h"

namespace cupool::policy {
namespace {

enum class Timer : std::uint8_t { arrive, work_done, give_back, drained, foreign, look_again };

struct Alarm {
  Instant at;
  std::uint64_t number = 0;  ///< alarms of one instant ring in the order in which they were set
  Timer timer = Timer::look_again;
  std::uint32_t subject = 0;  ///< a job, or an entry of Plan::foreign
  std::uint64_t value = 0;    ///< work_done: which stretch of work; drained: units
  bool operator<(const Alarm& other) const { return std::tie(other.at, other.number) < std::tie(at, number); }
};

/// Where a job is in its script.
struct Actor {
  Standing standing;
  std::size_t step = 0;
  std::uint64_t rounds_left = 1;
  std::uint64_t arrival_ticket = 0;
  std::uint64_t ask_ticket = 0;     ///< 0: none
  std::uint64_t resume_ticket = 0;  ///< 0: none
  Units parked;
  Instant parked_since;
  std::uint64_t stretch = 0;  ///< counts stretches of work, so that the alarm of one that was interrupted is known
  bool works = false;
  Instant works_until;
  Duration work_left;  ///< while it stands still
  bool will_give_back = false;
  std::map<std::uint64_t, Revocation> targets;  ///< by the ticket of who calls back
};

class Engine {
 public:
  explicit Engine(const Plan& plan) : plan_(plan), rules_(rules_of(plan.terms)), keeper_(rules_), actors_(plan.jobs.size()) {
    history_.jobs.resize(plan.jobs.size());
  }

  History run();

 private:
  // Time.
  void set(Instant at, Timer timer, std::uint32_t subject, std::uint64_t value = 0) {
    if (at != kNever) alarms_.push({at, next_alarm_++, timer, subject, value});
  }
  void ring(const Alarm& alarm);

  // A job's life.
  void arrive(std::uint32_t job);
  void advance(std::uint32_t job);
  bool do_step(std::uint32_t job, const Step& step);
  bool ask(std::uint32_t job, const Step& step);
  void start_work(std::uint32_t job, Duration span);
  void stand_still(std::uint32_t job);
  void go_on(std::uint32_t job);
  void leave(std::uint32_t job, Fate fate, EventKind kind);

  // Decisions, pulled by the waiters.
  void settle();
  bool settle_arrival(std::uint64_t ticket);
  bool settle_request(std::uint64_t ticket);
  void granted(std::uint64_t ticket, const Request& request, const Verdict& verdict);
  void denied(std::uint64_t ticket, const Request& request, const Verdict& verdict);
  void note_wait(std::uint64_t ticket, std::uint32_t job, EventKind kind, const Verdict& verdict);
  void call_back(const Request& request, const std::vector<Revocation>& revocations);
  void obey(std::uint32_t job);

  // The record.
  void note(EventKind kind, std::uint32_t job, Units units = {}, std::uint32_t other = kNobody, const Verdict* verdict = nullptr);
  void sample(std::uint32_t job);
  void count_wait(JobHistory& history, Instant since);

  bool exhausted() const {
    return history_.events.size() >= kMostEvents || next_alarm_ >= kMostEvents || judgements_ >= kMostJudgements;
  }
  const JobAccount& account(std::uint32_t job) const { return keeper_.account_of(job); }

  const Plan& plan_;
  Rules rules_;
  Keeper keeper_;
  std::vector<Actor> actors_;
  History history_;
  Instant now_;
  std::priority_queue<Alarm> alarms_;
  std::uint64_t next_alarm_ = 0;
  std::map<std::uint64_t, Rule> noted_;                            ///< what a waiting ticket was last said to wait for
  std::map<std::uint64_t, std::vector<std::uint32_t>> called_by_;  ///< whose targets a waiting ticket has set
  std::uint64_t judgements_ = 0;
};

void Engine::note(EventKind kind, std::uint32_t job, Units units, std::uint32_t other, const Verdict* verdict) {
  history_.events.push_back({now_, kind, job, units, other, verdict != nullptr ? std::optional(*verdict) : std::nullopt});
  if (job != kNobody) sample(job);
}

void Engine::sample(std::uint32_t job) {
  const Actor& actor = actors_[job];
  Sample sample{.at = now_, .state = Sample::State::absent, .held = {}, .parked = actor.parked, .idle = {}};
  if (keeper_.is_live(job)) {
    sample.held = account(job).held;
    sample.idle = account(job).idle;
    sample.state = actor.parked.count > 0  ? Sample::State::parked
                   : actor.ask_ticket != 0 ? Sample::State::waits
                                           : Sample::State::runs;
  } else if (actor.arrival_ticket != 0) {
    sample.state = Sample::State::arriving;
  }
  JobHistory& history = history_.jobs[job];
  history.peak = std::max(history.peak, sample.held);
  std::vector<Sample>& samples = history.samples;
  if (!samples.empty() && samples.back() == sample) return;
  if (!samples.empty() && samples.back().at == now_)
    samples.back() = sample;
  else
    samples.push_back(sample);
}

void Engine::count_wait(JobHistory& history, Instant since) {
  const Duration span{now_.ns - since.ns};
  if (span.ns == 0) return;
  ++history.waits;
  history.waited.ns += span.ns;
  history.longest_wait = std::max(history.longest_wait, span);
}

History Engine::run() {
  for (std::uint32_t job = 0; job < plan_.jobs.size(); ++job) {
    actors_[job].standing = standing_of(plan_.terms, plan_.jobs[job].terms);
    actors_[job].rounds_left = plan_.jobs[job].repeat;
    set(plan_.jobs[job].arrives, Timer::arrive, job);
  }
  for (std::uint32_t i = 0; i < plan_.foreign.size(); ++i) set(plan_.foreign[i].at, Timer::foreign, i);
  while (!alarms_.empty() && !history_.cut_short) {
    const Alarm alarm = alarms_.top();
    if (alarm.at > plan_.end) break;
    alarms_.pop();
    now_ = alarm.at;
    ring(alarm);
    // What happens at one instant happens together, before anybody decides.
    if (alarms_.empty() || alarms_.top().at != now_) settle();
    history_.cut_short = exhausted();
  }
  // Alarms that found nothing to do (a deadline of a request long granted) are not the end of anything.
  const bool ends_by_plan = plan_.end != kNever && !alarms_.empty() && !history_.cut_short;
  history_.end = ends_by_plan ? plan_.end : history_.events.empty() ? Instant{0} : history_.events.back().at;
  now_ = history_.end;
  for (std::uint32_t job = 0; job < actors_.size(); ++job) {
    if (actors_[job].parked.count > 0) history_.jobs[job].parked_for.ns += now_.ns - actors_[job].parked_since.ns;
    if (keeper_.is_waiting(actors_[job].ask_ticket)) count_wait(history_.jobs[job], keeper_.request(actors_[job].ask_ticket).since);
  }
  return std::move(history_);
}

void Engine::ring(const Alarm& alarm) {
  switch (alarm.timer) {
    case Timer::arrive:
      return arrive(alarm.subject);
    case Timer::work_done:
      if (!actors_[alarm.subject].works || actors_[alarm.subject].stretch != alarm.value) return;
      actors_[alarm.subject].works = false;
      return advance(alarm.subject);
    case Timer::give_back:
      return obey(alarm.subject);
    case Timer::drained:
      keeper_.drained(Units{alarm.value});
      return note(EventKind::drained, alarm.subject, Units{alarm.value});
    case Timer::foreign: {
      const Units units = plan_.foreign[alarm.subject].units;
      keeper_.set_capacity(rules_.capacity - std::min(rules_.capacity, units));
      return note(EventKind::foreign_use, kNobody, units);
    }
    case Timer::look_again:
      return;
  }
}

void Engine::arrive(std::uint32_t job) {
  history_.jobs[job].arrived = now_;
  Actor& actor = actors_[job];
  actor.arrival_ticket = keeper_.next_ticket();
  keeper_.line_up(job, {.standing = actor.standing, .ticket = actor.arrival_ticket, .passed_over = 0, .since = now_});
  set(after(now_, rules_.admission.max_wait), Timer::look_again, job);
  note(EventKind::arrived, job);
}

/// Carries out steps until one takes time or has to wait.
void Engine::advance(std::uint32_t job) {
  const PlannedJob& plan = plan_.jobs[job];
  Actor& actor = actors_[job];
  while (keeper_.is_live(job) && !exhausted()) {
    if (actor.step == plan.steps.size()) {
      if (plan.steps.empty() || --actor.rounds_left == 0) return leave(job, Fate::finished, EventKind::ended);
      actor.step = 0;
    }
    if (!do_step(job, plan.steps[actor.step++])) return;
  }
}

/// True when the next step may follow at once.
bool Engine::do_step(std::uint32_t job, const Step& step) {
  const JobAccount& own = account(job);
  switch (step.kind) {
    case Step::Kind::ask:
      return ask(job, step);
    case Step::Kind::free: {
      const Units units = step.all ? own.held : std::min(step.units, own.held);
      keeper_.give_back(job, units);
      note(EventKind::freed, job, units);
      return true;
    }
    case Step::Kind::idle: {
      const Units units = step.all ? own.held : std::min(own.idle + step.units, own.held);
      keeper_.set_idle(job, units);
      note(EventKind::idle, job, units);
      return true;
    }
    case Step::Kind::work:
      start_work(job, step.span);
      return false;
    case Step::Kind::die:
      leave(job, Fate::died, EventKind::died);
      return false;
  }
  return true;
}

bool Engine::ask(std::uint32_t job, const Step& step) {
  Actor& actor = actors_[job];
  const Units from_idle = std::min(step.units, account(job).idle);
  keeper_.set_idle(job, account(job).idle - from_idle);
  ++history_.jobs[job].asks;
  actor.ask_ticket = keeper_.next_ticket();
  Instant deadline = after(now_, actor.standing.max_wait);
  if (step.deadline) deadline = std::min(deadline, after(now_, *step.deadline));
  keeper_.enqueue({.job = job,
                   .units = step.units - from_idle,
                   .ticket = actor.ask_ticket,
                   .passed_over = 0,
                   .since = now_,
                   .deadline = deadline,
                   .patience = step.patience});
  note(EventKind::asked, job, step.units - from_idle);
  set(deadline, Timer::look_again, job);
  return false;
}

void Engine::start_work(std::uint32_t job, Duration span) {
  Actor& actor = actors_[job];
  actor.works = true;
  actor.works_until = after(now_, span);
  set(actor.works_until, Timer::work_done, job, ++actor.stretch);
}

void Engine::stand_still(std::uint32_t job) {
  Actor& actor = actors_[job];
  actor.parked_since = now_;
  keeper_.set_stalled(job, true);
  actor.work_left = actor.works ? Duration{actor.works_until.ns - now_.ns} : Duration{};
  ++actor.stretch;
  actor.resume_ticket = keeper_.next_ticket();
  keeper_.enqueue({.job = job, .units = Units{0}, .ticket = actor.resume_ticket, .passed_over = 0, .since = now_});
}

void Engine::go_on(std::uint32_t job) {
  Actor& actor = actors_[job];
  history_.jobs[job].parked_for.ns += now_.ns - actor.parked_since.ns;
  keeper_.set_stalled(job, false);
  const Units back = actor.parked;
  actor.parked = {};
  actor.resume_ticket = 0;
  note(EventKind::resumed, job, back);
  if (actor.works) return start_work(job, actor.work_left);
  if (actor.ask_ticket == 0) advance(job);
}

void Engine::leave(std::uint32_t job, Fate fate, EventKind kind) {
  Actor& actor = actors_[job];
  const bool killed = kind == EventKind::died;
  const Units units = account(job).held;
  keeper_.leave(job, killed);
  actor.ask_ticket = actor.resume_ticket = actor.arrival_ticket = 0;
  actor.parked = {};
  actor.targets.clear();
  actor.works = false;
  history_.jobs[job].fate = fate;
  history_.jobs[job].ended = now_;
  note(kind, job, units);
  if (killed && units.count > 0) set(after(now_, plan_.drain), Timer::drained, job, units.count);
}

void Engine::settle() {
  bool changed = true;
  while (changed && !exhausted()) {
    changed = false;
    for (const std::uint64_t ticket : keeper_.arriving_tickets()) changed |= settle_arrival(ticket);
    for (const std::uint64_t ticket : keeper_.tickets()) {
      // An earlier one of this round may have gone, taking others of its job with it.
      if (keeper_.is_waiting(ticket)) changed |= settle_request(ticket);
    }
  }
}

void Engine::note_wait(std::uint64_t ticket, std::uint32_t job, EventKind kind, const Verdict& verdict) {
  const auto [place, first] = noted_.try_emplace(ticket, verdict.rule);
  if (!first && place->second == verdict.rule) return;
  place->second = verdict.rule;
  note(kind, job, verdict.figures.asked, kNobody, &verdict);
}

bool Engine::settle_arrival(std::uint64_t ticket) {
  ++judgements_;
  const Verdict verdict = keeper_.judge_arrival(ticket, now_);
  const std::uint32_t job = keeper_.arriving_job(ticket);
  if (verdict.outcome == Outcome::wait) {
    note_wait(ticket, job, EventKind::admission_waits, verdict);
    return false;
  }
  noted_.erase(ticket);
  JobHistory& history = history_.jobs[job];
  if (verdict.outcome == Outcome::deny) {
    keeper_.withdraw_arrival(ticket);
    actors_[job].arrival_ticket = 0;
    history.fate = Fate::turned_away;
    history.ended = now_;
    history.last_denial = verdict.rule;
    note(EventKind::turned_away, job, {}, kNobody, &verdict);
    return true;
  }
  keeper_.admit(ticket);
  actors_[job].arrival_ticket = 0;
  history.admitted = now_;
  note(EventKind::admitted, job, {}, kNobody, &verdict);
  advance(job);
  return true;
}

bool Engine::settle_request(std::uint64_t ticket) {
  ++judgements_;
  const Request request = keeper_.request(ticket);
  const Keeper::Judgement judgement = keeper_.judge(ticket, now_);
  switch (judgement.verdict.outcome) {
    case Outcome::grant:
      granted(ticket, request, judgement.verdict);
      return true;
    case Outcome::deny:
      denied(ticket, request, judgement.verdict);
      return true;
    case Outcome::wait:
      break;
  }
  const bool is_ask = ticket == actors_[request.job].ask_ticket;
  if (is_ask) note_wait(ticket, request.job, EventKind::waits, judgement.verdict);
  call_back(request, judgement.revocations);
  return false;
}

void Engine::granted(std::uint64_t ticket, const Request& request, const Verdict& verdict) {
  keeper_.grant(ticket, now_);
  noted_.erase(ticket);
  Actor& actor = actors_[request.job];
  const JobAccount& own = account(request.job);
  if (borrowed(own) > 0 && own.standing.max_hold)
    set(after(own.borrowing_since, *own.standing.max_hold), Timer::look_again, request.job);
  if (ticket == actor.resume_ticket) return go_on(request.job);
  actor.ask_ticket = 0;
  ++history_.jobs[request.job].grants;
  count_wait(history_.jobs[request.job], request.since);
  note(EventKind::granted, request.job, verdict.granted, kNobody, &verdict);
  if (actor.parked.count == 0) advance(request.job);
}

void Engine::denied(std::uint64_t ticket, const Request& request, const Verdict& verdict) {
  keeper_.withdraw(ticket);
  noted_.erase(ticket);
  Actor& actor = actors_[request.job];
  JobHistory& history = history_.jobs[request.job];
  if (ticket == actor.resume_ticket) {
    // Only the pool's own shrinking can make units that it once gave more than it could ever give: the job cannot come back.
    history.last_denial = verdict.rule;
    return leave(request.job, Fate::gave_up, EventKind::ended);
  }
  actor.ask_ticket = 0;
  ++history.denials;
  history.last_denial = verdict.rule;
  count_wait(history, request.since);
  note(EventKind::denied, request.job, request.units, kNobody, &verdict);
  const OnDenied then = plan_.jobs[request.job].steps[actor.step - 1].on_denied;
  if (then == OnDenied::end) return leave(request.job, Fate::gave_up, EventKind::ended);
  if (then == OnDenied::die) return leave(request.job, Fate::died, EventKind::died);
  if (actor.parked.count == 0) advance(request.job);
}

void Engine::call_back(const Request& request, const std::vector<Revocation>& revocations) {
  // What the ticket asked of others before is void: its need may have changed.
  std::vector<std::uint32_t>& called = called_by_[request.ticket];
  for (const std::uint32_t job : called) actors_[job].targets.erase(request.ticket);
  called.clear();
  for (const Revocation& revocation : revocations) {
    Actor& victim = actors_[revocation.job];
    victim.targets[request.ticket] = revocation;
    called.push_back(revocation.job);
    if (victim.will_give_back) continue;
    victim.will_give_back = true;
    note(EventKind::called_back, revocation.job, revocation.units, request.job);
    set(after(now_, plan_.give_back), Timer::give_back, revocation.job);
  }
}

/// Gives back what is called back by requests that still wait: idle units at no cost, others by moving them to the host.
void Engine::obey(std::uint32_t job) {
  Actor& actor = actors_[job];
  actor.will_give_back = false;
  std::erase_if(actor.targets, [this](const auto& target) { return !keeper_.is_waiting(target.first); });
  if (!keeper_.is_live(job) || actor.targets.empty()) return;
  Units target = account(job).held;
  for (const auto& [ticket, revocation] : actor.targets) target = std::min(target, revocation.down_to);
  const Units units = account(job).held - target;
  const Units idle = std::min(units, account(job).idle);
  const Units moved = account(job).standing.on_revoke == OnRevoke::park ? units - idle : Units{0};
  Units left = idle + moved;
  for (const auto& [ticket, revocation] : actor.targets) {
    const Units part = std::min(left, revocation.units);
    keeper_.add_returned(ticket, part);
    left -= part;
  }
  actor.targets.clear();
  if ((idle + moved).count == 0) return;
  history_.jobs[job].called_back += idle + moved;
  keeper_.give_back(job, idle + moved);
  if (idle.count > 0) note(EventKind::gave_back, job, idle);
  if (moved.count == 0) return;
  if (actor.parked.count == 0) stand_still(job);
  actor.parked += moved;
  keeper_.enlarge(actor.resume_ticket, moved);
  note(EventKind::parked, job, moved);
}

}  // namespace

History simulate(const Plan& plan) {
  return Engine(plan).run();
}

}  // namespace cupool::policy
