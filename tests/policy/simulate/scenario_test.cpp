// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/scenario.h"

#include <catch2/catch.hpp>

#include "policy/load.h"
#include "policy/parse.h"
#include "policy/simulate/engine.h"

using namespace cupool;
using namespace cupool::policy;

namespace {

/// What is said about a scenario under the policy of three lines below: all messages, one a line.
std::string complaints(const std::string& text, Prepared* prepared = nullptr) {
  Problems problems;
  const auto document = parse(text, problems);
  if (document) {
    const Scenario scenario = decode_scenario(*document, problems);
    if (problems.errors() == 0) {
      const Loaded loaded = load(R"({"version": 1, "default_class": "low", "classes": {"low": {}, "high": {"priority": 90}},
        "jobs": [{"match": {"command": "*serve*", "env": {"A": "b"}}, "class": "high", "limit": "10u"}]})");
      const Resolved resolved = resolve(*loaded.policy, scenario.device, scenario.machine);
      Prepared result = prepare(scenario, *loaded.policy, resolved.terms, problems);
      if (prepared != nullptr) *prepared = std::move(result);
    }
  }
  std::string out;
  for (const Problem& problem : problems.list()) {
    const LineColumn at = line_column(text, problem.where.begin);
    out += std::to_string(at.line) + ':' + std::to_string(at.column) + ' ' + problem.pointer + ' ' + problem.text + '\n';
  }
  return out;
}

Plan plan_of(const std::string& text) {
  Prepared prepared;
  REQUIRE(complaints(text, &prepared).empty());
  return prepared.plan;
}

/// A scenario with one job with these members.
std::string job(const std::string& members) {
  return R"({"version": 1, "jobs": [{"name": "a", )" + members + "}]}";
}
std::string step(const std::string& text) {
  return job("\"steps\": [" + text + "]");
}

}  // namespace

TEST_CASE("each mistake in a scenario is named with its place and a remedy", "[policy][simulate]") {
  struct Case {
    std::string text, said;
  };
  const std::vector<Case> cases{
      {"[]", "a scenario is an object"},
      {R"({"jobs": []})", "has no version"},
      {R"({"version": 2, "jobs": []})", "/version 2 is not a whole number from 1 to 1"},
      {R"({"version": 1})", "has no jobs"},
      {R"({"version": 1, "jobs": {}})", "/jobs jobs is a list"},
      {R"({"version": 1, "job": []})", "did you mean \"jobs\""},
      {R"({"version": 1, "jobs": [], "policy": 3})", "/policy 3 is not a text"},
      {R"({"version": 1, "jobs": [], "device": {"total": "80GB"}})", "/device/total"},
      {R"({"version": 1, "jobs": [], "device": {"total": "80%"}})", "in bytes"},
      {R"({"version": 1, "jobs": [], "device": {"uuid": "../x"}})", "not a UUID"},
      {R"({"version": 1, "jobs": [], "cores": 0})", "from 1 to"},
      {R"({"version": 1, "jobs": [], "end": "soon"})", "/end"},
      {R"({"version": 1, "jobs": [], "give_back": 3})", "is not a duration"},
      {R"({"version": 1, "jobs": [], "foreign": [{"at": "1s", "held": "1GiB"}]})", "unknown key"},
      {R"({"version": 1, "jobs": [], "foreign": [{"holds": "3u"}]})", "in bytes"},
      {R"({"version": 1, "jobs": [{}]})", "has no name"},
      {R"({"version": 1, "jobs": [7]})", "a job is an object"},
      {R"({"version": 1, "jobs": [{"name": "a"}, {"name": "a"}]})", "another job has this name"},
      {R"({"version": 1, "jobs": [{"name": "a b"}]})", "letters, digits"},
      {job(R"("at": "-1s")"), "/jobs/0/at"},
      {job(R"("count": 5000)"), "from 1 to 1024"},
      {R"({"version": 1, "jobs": [{"name": "a", "count": 1000}, {"name": "b", "count": 1000}]})", "more than 1024 in all"},
      {job(R"("class": "hihg")"), "did you mean \"high\""},
      {job(R"("env": ["A"])"), "env is an object"},
      {step(R"({})"), "the step does nothing"},
      {step(R"({"ask": "1GiB", "work": "1s"})"), "a step does one thing"},
      {step(R"({"aks": "1GiB"})"), "did you mean \"ask\""},
      {step(R"({"ask": "1GB"})"), "ambiguous"},
      {step(R"({"ask": "infinity"})"), "no amount"},
      {step(R"({"ask": 0})"), "is nothing"},
      {step(R"({"ask": -1})"), "is not a size"},
      {step(R"({"ask": 0.5})"), "is not a size"},
      {step(R"({"ask": "all"})"), "/jobs/0/steps/0/ask"},
      {step(R"({"work": "1s", "deadline": "1s"})"), "belong to a step that asks"},
      {step(R"({"ask": "1u", "on_denied": "stop"})"), "the words"},
      {step(R"({"ask": "1u", "may_wait": "no"})"), "not true or false"},
      {step(R"({"die": false})"), "leave the step out"},
      {R"({"version": 1, "jobs": [], "expect": [{"finish": true}]})", "did you mean \"finishes\""},
      {R"({"version": 1, "jobs": [], "expect": [{"denied": -1}]})", "/expect/0/denied"},
      {R"({"version": 1, "version": 1, "jobs": []})", "version"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK_THAT(complaints(c.text), Catch::Matchers::Contains(c.said));
  }
}

TEST_CASE("a message names line and column", "[policy][simulate]") {
  CHECK_THAT(complaints("{\"version\": 1,\n \"jobs\": [],\n   \"cores\": \"x\"}"), Catch::Matchers::StartsWith("3:13 /cores "));
}

TEST_CASE("annotations and comments are accepted", "[policy][simulate]") {
  CHECK(complaints(R"({"version": 1, /* why */ "x-note": [1], "jobs": [{"name": "a", "x-owner": "ana"}]})").empty());
}

TEST_CASE("what an amount means follows the pool, and demands are rounded up", "[policy][simulate]") {
  const Plan plan = plan_of(step(R"({"ask": "129MiB"}, {"ask": "50%"}, {"free": "all"}, {"ask": "3u"}, {"idle": 1})"));
  const auto& steps = plan.jobs.at(0).steps;
  CHECK(steps.at(0).units == Units{2});
  CHECK(steps.at(1).units == Units{plan.terms.pool.capacity.count / 2});
  CHECK(steps.at(2).all);
  CHECK(steps.at(3).units == Units{3});
  CHECK(steps.at(4).units == Units{1});
}

TEST_CASE("many alike arrive one after another", "[policy][simulate]") {
  const Plan plan = plan_of(job(R"("at": "10s", "count": 3, "every": "2s")"));
  REQUIRE(plan.jobs.size() == 3);
  CHECK(plan.jobs[2].name == "a-3");
  CHECK(plan.jobs[2].arrives == Instant{14 * kSecond.ns});
}

TEST_CASE("the policy's entries find a job's class and limit", "[policy][simulate]") {
  const Plan plan = plan_of(job(R"("command": "python serve.py --port 80", "env": {"A": "b"})"));
  CHECK(plan.jobs.at(0).terms.rules.name == "high");
  CHECK(plan.jobs.at(0).terms.rules.limit == Units{10});
  CHECK(plan_of(job(R"("command": "python serve.py")")).jobs.at(0).terms.rules.name == "low");
  CHECK(plan_of(job(R"("class": "high")")).jobs.at(0).terms.rules.name == "high");
}

TEST_CASE("foreign use counts where the pool leaves no room for it", "[policy][simulate]") {
  // A device of 80 GiB of which the pool has 76: 4 GiB do not matter.
  const Plan plan =
      plan_of(R"({"version": 1, "jobs": [], "foreign": [{"at": "1s", "holds": "4GiB"}, {"at": "2s", "holds": "5GiB"}]})");
  CHECK(plan.foreign.at(0).units == Units{0});
  CHECK(plan.foreign.at(1).units == Units{8});
}

TEST_CASE("a broken promise is told with its figures", "[policy][simulate]") {
  Prepared prepared;
  REQUIRE(complaints(R"({"version": 1, "jobs": [
      {"name": "a", "steps": [{"ask": "70GiB"}, {"work": "20s"}]},
      {"name": "b", "at": "1s", "steps": [{"ask": "20GiB"}, {"work": "1s"}]},
      {"name": "c", "at": "2s", "steps": [{"ask": "99GiB"}]}],
    "expect": [{"job": "b", "waits_at_most": "5s", "holds_at_least": "21GiB", "finishes": false}, {"job": "c", "denied": 0},
               {"job": "a", "holds_at_most": "60GiB", "starts_within": "0s", "finishes": true}, {"job": "z*"}]})",
                     &prepared)
              .empty());
  const std::vector<std::string> told = broken(prepared.expectations, prepared.plan, simulate(prepared.plan));
  CHECK(told == std::vector<std::string>{
                    "job b should not finish, but is: finished",
                    "job b should wait at most 5s for memory, but does for 19s",
                    "job b should hold at least 21 GiB, but holds 20 GiB",
                    "job c should be denied 0 times, but is denied 1 times (over_limit)",
                    "job a should hold at most 60 GiB, but holds 70 GiB",
                    "no job fits \"z*\", of which something is expected",
                });
}
