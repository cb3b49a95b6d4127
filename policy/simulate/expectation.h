// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/simulate/history.h"
#include "policy/simulate/plan.h"

namespace cupool::policy {

/// What a scenario promises of the jobs whose names fit a pattern. Whatever is not given is not checked.
struct Expectation {
  std::string job = "*";
  std::optional<bool> finishes;            ///< runs its script to the end
  std::optional<std::uint64_t> denied;     ///< exactly so many requests are denied
  std::optional<Duration> waits_at_most;   ///< no single wait for memory is longer
  std::optional<Duration> starts_within;   ///< admitted so soon after it arrived
  std::optional<Units> holds_at_least;     ///< its peak
  std::optional<Units> holds_at_most;      ///< its peak
  std::optional<Duration> parked_at_most;  ///< all of its standing still together
};

/// One sentence for each promise that the history breaks, with the job and the figures; also for an expectation that fits no job.
std::vector<std::string> broken(const std::vector<Expectation>& expectations, const Plan& plan, const History& history);

}  // namespace cupool::policy
