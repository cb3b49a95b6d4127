// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/base/result.h"
#include "policy/host/governance.h"
#include "tools/cupool/launch/child.h"
#include "tools/cupool/launch/installation.h"

namespace cupool::tool {

/// What `cupool run` and `cupool env` were asked for.
struct RunRequest {
  std::optional<std::string> sim;  ///< "16GiB" or "16GiBx2"
  std::optional<std::string> policy, job_class, job, report;
  std::vector<std::string> command;
};

/// A simulated machine: how much memory, how many GPUs.
struct SimulatedGpus {
  std::string memory;
  unsigned count = 1;
};
/// "SIZE" or "SIZExN"; the error names what is wrong.
tl::expected<SimulatedGpus, std::string> parse_sim(const std::string& text);

/// The environment that makes a program run under cupool. `journal` is empty without a launcher. `run_folder` must live as long as
/// the program does. The error is a sentence for the user.
tl::expected<std::vector<EnvironmentChange>, std::string> plan_environment(const RunRequest& request,
                                                                           const Installation& installation,
                                                                           const std::string& run_folder, const std::string& run_id,
                                                                           const std::string& journal);

/// The policy that will apply, read as the program's process will read it. The error is why it cannot start.
tl::expected<policy::host::Governance, std::string> read_policy(const RunRequest& request);

/// Eight hexadecimal digits that no other run of this machine is likely to have.
std::string new_run_id();

}  // namespace cupool::tool
