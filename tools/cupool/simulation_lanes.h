// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/simulate/history.h"

/// The timeline in characters: each of `cells` stands for an equal part of the time that was simulated.
namespace cupool::tool {

/// What most matters of a job in each part of the time: standing still, waiting, else how much it holds of its peak.
std::string job_lane(const policy::History& history, std::uint32_t job, std::size_t cells);

/// The largest sum that all jobs hold in each part, of `capacity`.
std::string pool_lane(const policy::History& history, Units capacity, std::size_t cells);

}  // namespace cupool::tool
