// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policy/match.h"
#include "policy/simulate/scenario.h"
#include "policy/suggest.h"

namespace cupool::policy {
namespace {

/// The scenario under a policy.
class Planner {
 public:
  Planner(const Scenario& scenario, const Policy& policy, const Terms& terms, Problems& problems)
      : scenario_(scenario), policy_(policy), terms_(terms), problems_(problems) {}

  Prepared run() {
    prepared_.plan.terms = terms_;
    prepared_.plan.give_back = scenario_.give_back;
    prepared_.plan.drain = scenario_.drain;
    prepared_.plan.end = scenario_.end;
    for (const ScenarioJob& job : scenario_.jobs) add(job);
    for (const auto& [at, bytes] : scenario_.foreign) prepared_.plan.foreign.push_back({at, missing_for(bytes)});
    for (const ScenarioExpectation& written : scenario_.expectations) {
      Expectation expected = written.expected;
      if (written.holds_at_least) expected.holds_at_least = units(*written.holds_at_least);
      if (written.holds_at_most) expected.holds_at_most = units(*written.holds_at_most);
      prepared_.expectations.push_back(std::move(expected));
    }
    return std::move(prepared_);
  }

 private:
  Bytes whole() const { return terms_.pool.unit * terms_.pool.capacity.count; }

  Units units(const Amount& amount) const {
    return units_covering(amount.size.bytes_in(whole(), terms_.pool.unit), terms_.pool.unit);
  }

  /// Units that the pool lacks while others hold `bytes` of the device: what the pool leaves free on the device goes first.
  Units missing_for(Bytes bytes) const {
    const Bytes beside{scenario_.device.total.count - std::min(scenario_.device.total, whole()).count};
    return bytes > beside ? units_covering(bytes - beside, terms_.pool.unit) : Units{0};
  }

  void add(const ScenarioJob& job) {
    const JobMatch match = match_job(policy_, job.identity);
    std::size_t class_number = match.class_index;
    if (job.class_name) {
      const auto found = class_index(policy_, *job.class_name);
      if (!found) {
        std::vector<std::string_view> names;
        for (const ClassRules& rules : policy_.classes) names.push_back(rules.name);
        problems_.add(Severity::error, job.class_where, job.pointer + "/class",
                      "the policy has no such class" + suggestion(*job.class_name, names, "it has"));
        return;
      }
      class_number = *found;
    }
    PlannedJob planned;
    planned.terms = job_terms(terms_, class_number, match.entry ? &policy_.jobs[*match.entry] : nullptr);
    planned.repeat = job.repeat;
    for (const ScenarioStep& step : job.steps) planned.steps.push_back(planned_step(step));
    for (std::uint64_t i = 0; i < job.count && prepared_.plan.jobs.size() < kMostPlannedJobs; ++i) {
      planned.name = job.count == 1 ? job.name : job.name + '-' + std::to_string(i + 1);
      const auto delay = checked_mul(job.every.ns, i);
      planned.arrives = after(job.arrives, Duration{delay.value_or(kNever.ns)});
      prepared_.plan.jobs.push_back(planned);
    }
  }

  Step planned_step(const ScenarioStep& written) {
    Step step = written.step;
    const bool has_amount = step.kind == Step::Kind::ask || step.kind == Step::Kind::free || step.kind == Step::Kind::idle;
    if (!has_amount || step.all) return step;
    step.units = units(written.amount);
    if (step.units.count == 0 && !written.amount.pointer.empty())
      problems_.add(Severity::error, written.amount.where, written.amount.pointer, "is nothing; write a size such as \"4GiB\"");
    return step;
  }

  const Scenario& scenario_;
  const Policy& policy_;
  const Terms& terms_;
  Problems& problems_;
  Prepared prepared_;
};

}  // namespace

Prepared prepare(const Scenario& scenario, const Policy& policy, const Terms& terms, Problems& problems) {
  return Planner(scenario, policy, terms, problems).run();
}

}  // namespace cupool::policy
