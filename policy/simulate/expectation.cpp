// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/expectation.h"

#include "policy/decide/reason.h"
#include "policy/pattern.h"

namespace cupool::policy {
namespace {

/// Compares one job's history with one expectation.
class Checker {
 public:
  Checker(const PlannedJob& job, const JobHistory& history, Bytes unit, std::vector<std::string>& faults)
      : job_(job), history_(history), unit_(unit), faults_(faults) {}

  void check(const Expectation& expected) {
    if (expected.finishes && *expected.finishes != (history_.fate == Fate::finished)) {
      fault(std::string(*expected.finishes ? "should finish" : "should not finish") + ", but is: " + to_text(history_.fate) +
            (history_.last_denial ? std::string(" (") + to_text(*history_.last_denial) + ")" : ""));
    }
    if (expected.denied && *expected.denied != history_.denials) {
      fault("should be denied " + std::to_string(*expected.denied) + " times, but is denied " + std::to_string(history_.denials) +
            (history_.last_denial ? std::string(" times (") + to_text(*history_.last_denial) + ")" : " times"));
    }
    at_most("should wait", expected.waits_at_most, history_.longest_wait, "for memory");
    at_most("should stand still", expected.parked_at_most, history_.parked_for, "parked");
    if (expected.starts_within) check_start(*expected.starts_within);
    if (expected.holds_at_least && history_.peak < *expected.holds_at_least)
      fault("should hold at least " + bytes(*expected.holds_at_least) + ", but holds " + bytes(history_.peak));
    if (expected.holds_at_most && history_.peak > *expected.holds_at_most)
      fault("should hold at most " + bytes(*expected.holds_at_most) + ", but holds " + bytes(history_.peak));
  }

 private:
  void fault(const std::string& text) { faults_.push_back("job " + job_.name + " " + text); }
  std::string bytes(Units units) const { return cupool::to_text(Bytes{units.count * unit_.count}); }

  void at_most(const char* what, const std::optional<Duration>& most, Duration is, const char* how) {
    if (most && is > *most) fault(std::string(what) + " at most " + to_text(*most) + " " + how + ", but does for " + to_text(is));
  }

  void check_start(Duration most) {
    if (!history_.admitted) return fault("should start within " + to_text(most) + ", but does not start");
    const Duration took{history_.admitted->ns - history_.arrived.ns};
    if (took > most) fault("should start within " + to_text(most) + ", but takes " + to_text(took));
  }

  const PlannedJob& job_;
  const JobHistory& history_;
  Bytes unit_;
  std::vector<std::string>& faults_;
};

}  // namespace

std::vector<std::string> broken(const std::vector<Expectation>& expectations, const Plan& plan, const History& history) {
  std::vector<std::string> faults;
  for (const Expectation& expected : expectations) {
    bool fits_any = false;
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
      if (!fits(expected.job, plan.jobs[i].name)) continue;
      fits_any = true;
      Checker(plan.jobs[i], history.jobs[i], plan.terms.pool.unit, faults).check(expected);
    }
    if (!fits_any) faults.push_back("no job fits \"" + expected.job + "\", of which something is expected");
  }
  return faults;
}

}  // namespace cupool::policy
