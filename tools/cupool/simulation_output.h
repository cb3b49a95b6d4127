// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/simulate/history.h"
#include "policy/simulate/plan.h"
#include "tools/cupool/session.h"

/// A simulation shown: tables and a timeline for the terminal, JSON, and a picture.
namespace cupool::tool {

struct Simulated {
  std::string scenario, policy;  ///< names of the files, for headings
  policy::DeviceFacts device;
  policy::Plan plan;
  policy::History history;
  std::size_t expected = 0;         ///< expectations that the scenario states
  std::vector<std::string> broken;  ///< sentences about those that were not met
};

/// Time of a simulation: "0s", "12.5s", "3m05s", "2h03m".
std::string time_text(policy::Instant at);

/// Pool, what happened (at most `most_events` rows), timeline, a line for each job, expectations.
std::string simulation_text(const Simulated& simulated, const Session& session, std::size_t most_events, std::size_t width);

/// Everything, amounts in units and bytes, times in nanoseconds. Ends with a newline.
std::string simulation_json(const Simulated& simulated);

/// One lane for each job and one for the pool: who held what, waited and was parked. A self-contained SVG.
std::string simulation_svg(const Simulated& simulated);

}  // namespace cupool::tool
