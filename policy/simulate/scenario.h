// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/document.h"
#include "policy/match.h"
#include "policy/policy.h"
#include "policy/problem.h"
#include "policy/simulate/expectation.h"
#include "policy/simulate/plan.h"

/// The scenario file of `cupool policy simulate`, version 1: JSON in the dialect of policies (comments, sizes, durations), decoded
/// strictly: what is not known is an error with its place. The format is documented in policy/simulate/README.md.
namespace cupool::policy {

/// An amount as written, and where.
struct Amount {
  Size size;
  bool all = false;
  Stretch where;
  std::string pointer;
};

struct ScenarioStep {
  Step step;
  Amount amount;  ///< for ask, free and idle: becomes Step::units
};

struct ScenarioJob {
  std::string name;
  Instant arrives;
  std::uint64_t count = 1;  ///< so many alike: NAME-1, NAME-2...
  Duration every;           ///< between their arrivals
  std::uint64_t repeat = 1;
  Identity identity;
  std::optional<std::string> class_name;  ///< instead of what the policy's entries say
  Stretch class_where;
  std::string pointer;
  std::vector<ScenarioStep> steps;
};

struct ScenarioExpectation {
  Expectation expected;
  std::optional<Amount> holds_at_least, holds_at_most;
};

struct Scenario {
  std::optional<std::string> policy_file;  ///< relative to the scenario's own folder
  std::optional<Stretch> policy_text;      ///< or the policy itself, as it stands in the text
  DeviceFacts device{.uuid = "GPU-0", .index = 0, .total = Bytes{80 * kGiB.count}};
  MachineFacts machine{.physical_cores = 8};
  Duration give_back{kSecond.ns / 10};
  Duration drain{kSecond.ns / 2};
  Instant end = kNever;
  std::vector<ScenarioJob> jobs;
  std::vector<std::pair<Instant, Bytes>> foreign;
  std::vector<ScenarioExpectation> expectations;
};

/// At most so many jobs in all.
inline constexpr std::size_t kMostPlannedJobs = 1024;

/// Reads a parsed scenario. Of use only when no error was added.
Scenario decode_scenario(const Document& document, Problems& problems);

struct Prepared {
  Plan plan;
  std::vector<Expectation> expectations;
};

/// The plan under a policy that resolved without error: classes by the policy's entries or as the scenario says, amounts in whole
/// units (demands are rounded up). Adds problems about what does not fit the policy: an unknown class, an amount of nothing.
Prepared prepare(const Scenario& scenario, const Policy& policy, const Terms& terms, Problems& problems);

}  // namespace cupool::policy
