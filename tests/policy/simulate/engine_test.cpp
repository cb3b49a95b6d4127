// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/engine.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace cupool;
using namespace cupool::policy;

namespace {

constexpr Instant seconds(std::uint64_t s) {
  return Instant{s * kSecond.ns};
}
constexpr Duration span(std::uint64_t s) {
  return Duration{s * kSecond.ns};
}

Step ask(std::uint64_t units) {
  return {.kind = Step::Kind::ask, .units = Units{units}, .span = {}, .deadline = {}};
}
Step work(std::uint64_t s) {
  return {.kind = Step::Kind::work, .units = {}, .span = span(s), .deadline = {}};
}
Step free_units(std::uint64_t units) {
  return {.kind = Step::Kind::free, .units = Units{units}, .span = {}, .deadline = {}};
}
Step idle(std::uint64_t units) {
  return {.kind = Step::Kind::idle, .units = Units{units}, .span = {}, .deadline = {}};
}
Step die() {
  return {.kind = Step::Kind::die, .units = {}, .span = {}, .deadline = {}};
}

/// A pool of 100 units and two classes: "high" with a guarantee of 40, "low" that parks.
class Play {
 public:
  Play() {
    Terms& terms = plan.terms;
    terms.pool.unit = kUnitStep;
    terms.pool.capacity = Units{100};
    terms.pool.static_zone = Units{60};
    terms.admission = {.max_jobs = 3, .on_full = OnFull::wait, .max_wait = span(60)};
    ClassTerms high, low;
    high.name = "high";
    high.priority = 100;
    high.guarantee = Units{40};
    high.limit = Units{100};
    high.max_wait = span(30);
    low.name = "low";
    low.priority = 10;
    low.limit = Units{80};
    low.max_wait = span(30);
    low.on_revoke = OnRevoke::park;
    terms.classes = {high, low};
    plan.give_back = span(1);
    plan.drain = span(2);
  }

  std::uint32_t add(std::size_t class_index, std::uint64_t at_s, std::vector<Step> steps) {
    plan.jobs.push_back({.name = "job" + std::to_string(plan.jobs.size()),
                         .terms = job_terms(plan.terms, class_index, nullptr),
                         .arrives = seconds(at_s),
                         .steps = std::move(steps)});
    return static_cast<std::uint32_t>(plan.jobs.size() - 1);
  }
  const History& run() { return history = simulate(plan); }
  /// When the first event of the kind happened to the job.
  Instant at(EventKind kind, std::uint32_t job) const {
    const auto found =
        std::find_if(history.events.begin(), history.events.end(), [&](const Event& e) { return e.kind == kind && e.job == job; });
    return found == history.events.end() ? kNever : found->at;
  }

  static constexpr std::size_t kHigh = 0, kLow = 1;
  Plan plan;
  History history;
};

}  // namespace

TEST_CASE("a job alone has what it asks for and ends", "[policy][simulate]") {
  Play play;
  const auto job = play.add(Play::kLow, 5, {ask(50), work(10), free_units(20), work(5)});
  const JobHistory& history = play.run().jobs[job];
  CHECK(history.fate == Fate::finished);
  CHECK(history.peak == Units{50});
  CHECK(history.waits == 0);
  CHECK(history.ended == seconds(20));
}

TEST_CASE("who does not fit waits until another ends", "[policy][simulate]") {
  Play play;
  play.add(Play::kLow, 0, {ask(80), work(10)});
  const auto second = play.add(Play::kLow, 1, {ask(50), work(1)});
  const JobHistory& history = play.run().jobs[second];
  CHECK(history.longest_wait == span(9));
  CHECK(history.fate == Fate::finished);
}

TEST_CASE("a wait ends at its deadline, and the job with it", "[policy][simulate]") {
  Play play;
  play.add(Play::kLow, 0, {ask(80), work(100)});
  const auto second = play.add(Play::kLow, 1, {ask(50), work(1)});
  const JobHistory& history = play.run().jobs[second];
  CHECK(history.fate == Fate::gave_up);
  CHECK(history.ended == seconds(31));
  CHECK(history.last_denial == Rule::pool_full);
}

TEST_CASE("a refused job may go on", "[policy][simulate]") {
  Play play;
  Step step = ask(81);
  step.on_denied = OnDenied::go_on;
  const auto job = play.add(Play::kLow, 0, {step, work(3), ask(10)});
  const JobHistory& history = play.run().jobs[job];
  CHECK(history.fate == Fate::finished);
  CHECK(history.denials == 1);
  CHECK(history.grants == 1);
  CHECK(history.last_denial == Rule::over_limit);
}

TEST_CASE("a guarantee calls back, the borrower stands still and loses no work", "[policy][simulate]") {
  Play play;
  const auto low = play.add(Play::kLow, 0, {ask(80), work(20)});
  const auto high = play.add(Play::kHigh, 5, {ask(40), work(10)});
  play.run();
  CHECK(play.at(EventKind::granted, high) == seconds(6));
  CHECK(play.at(EventKind::parked, low) == seconds(6));
  CHECK(play.at(EventKind::resumed, low) == seconds(16));
  CHECK(play.history.jobs[low].parked_for == span(10));
  // 6 s before, 14 s after.
  CHECK(play.history.jobs[low].ended == seconds(30));
  CHECK(play.history.jobs[low].fate == Fate::finished);
}

TEST_CASE("idle units are given back without standing still, and no others by a class that does not park", "[policy][simulate]") {
  Play play;
  play.plan.terms.classes[Play::kLow].on_revoke = OnRevoke::idle;
  const auto low = play.add(Play::kLow, 0, {ask(60), idle(30), work(20)});
  const auto high = play.add(Play::kHigh, 5, {ask(70), work(1)});
  play.run();
  CHECK(play.history.jobs[low].called_back == Units{30});
  CHECK(play.history.jobs[low].parked_for == span(0));
  CHECK(play.history.jobs[low].ended == seconds(20));
  CHECK(play.at(EventKind::granted, high) == seconds(6));
}

TEST_CASE("a job uses its own idle units before it asks the pool", "[policy][simulate]") {
  Play play;
  const auto job = play.add(Play::kLow, 0, {ask(60), idle(30), ask(40), work(1)});
  CHECK(play.run().jobs[job].peak == Units{70});
}

TEST_CASE("units of a killed job are free only when they have drained", "[policy][simulate]") {
  Play play;
  play.add(Play::kLow, 0, {ask(80), work(5), die()});
  const auto second = play.add(Play::kLow, 1, {ask(50), work(1)});
  play.run();
  CHECK(play.history.jobs[0].fate == Fate::died);
  CHECK(play.at(EventKind::granted, second) == seconds(7));
}

TEST_CASE("a job too many starts when another has ended", "[policy][simulate]") {
  Play play;
  for (int i = 0; i < 3; ++i) play.add(Play::kLow, 0, {work(10)});
  const auto fourth = play.add(Play::kLow, 1, {work(1)});
  CHECK(play.run().jobs[fourth].admitted == seconds(10));
}

TEST_CASE("a second guarantee that does not fit the static zone is turned away in time", "[policy][simulate]") {
  Play play;
  play.add(Play::kHigh, 0, {work(100)});
  const auto second = play.add(Play::kHigh, 1, {work(1)});
  const JobHistory& history = play.run().jobs[second];
  CHECK(history.fate == Fate::turned_away);
  CHECK(history.ended == seconds(61));
  CHECK(history.last_denial == Rule::zone_full);
}

TEST_CASE("foreign use shrinks the pool until it ends", "[policy][simulate]") {
  Play play;
  play.plan.foreign = {{seconds(0), Units{70}}, {seconds(20), Units{0}}};
  const auto job = play.add(Play::kLow, 1, {ask(50), work(1)});
  CHECK((play.run(), play.at(EventKind::granted, job)) == seconds(20));
}

TEST_CASE("steps may be repeated", "[policy][simulate]") {
  Play play;
  const auto job = play.add(Play::kLow, 0, {ask(10), work(1), free_units(10)});
  play.plan.jobs[job].repeat = 5;
  const JobHistory& history = play.run().jobs[job];
  CHECK(history.grants == 5);
  CHECK(history.ended == seconds(5));
}

TEST_CASE("a plan that would never end is cut short", "[policy][simulate]") {
  Play play;
  const auto job = play.add(Play::kLow, 0, {ask(10), free_units(10)});
  play.plan.jobs[job].repeat = ~std::uint64_t{0};
  CHECK(play.run().cut_short);
}

TEST_CASE("a simulation stops at its end, with whoever still waits", "[policy][simulate]") {
  Play play;
  play.plan.end = seconds(10);
  play.add(Play::kLow, 0, {ask(80), work(100)});
  const auto second = play.add(Play::kLow, 1, {ask(50), work(1)});
  play.run();
  CHECK(play.history.end == seconds(10));
  CHECK(play.history.jobs[second].fate == Fate::unfinished);
  CHECK(play.history.jobs[second].waited == span(9));
}

TEST_CASE("the same plan gives the same history", "[policy][simulate]") {
  Play play;
  for (std::uint64_t i = 0; i < 6; ++i) play.add(i % 2, i, {ask(20 + i), work(3), ask(5), work(i), free_units(10), work(2)});
  const History first = simulate(play.plan), second = simulate(play.plan);
  REQUIRE(first.events.size() == second.events.size());
  for (std::size_t i = 0; i < first.events.size(); ++i) {
    CHECK(first.events[i].at == second.events[i].at);
    CHECK(first.events[i].kind == second.events[i].kind);
    CHECK(first.events[i].job == second.events[i].job);
  }
}

TEST_CASE("what all jobs hold never exceeds the pool", "[policy][simulate]") {
  Play play;
  play.plan.terms.admission.max_jobs = 50;
  for (std::uint64_t i = 0; i < 40; ++i)
    play.add(i % 20 == 0 ? Play::kHigh : Play::kLow, i / 4,
             {ask(10 + i), work(i % 7), ask(3), work(2), free_units(5), work(1 + i % 3)});
  play.run();
  std::vector<std::pair<Instant, std::int64_t>> changes;
  for (const JobHistory& job : play.history.jobs) {
    std::int64_t before = 0;
    for (const Sample& sample : job.samples) {
      changes.emplace_back(sample.at, static_cast<std::int64_t>(sample.held.count) - before);
      before = static_cast<std::int64_t>(sample.held.count);
    }
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t sum = 0;
  for (const auto& [at, change] : changes) CHECK((sum += change) <= 100);
  CHECK(sum == 0);
  CHECK_FALSE(play.history.cut_short);
}
