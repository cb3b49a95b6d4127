// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cupool/launch/run_plan.h"
#include "tools/cupool/session.h"

namespace cupool::tool {

/// The options that `run` and `env` share.
inline void add_run_options(CLI::App& command, RunRequest& request) {
  command.add_option("--policy", request.policy, "Policy file: a path, or a bare name")->option_text("P");
  command.add_option("--class", request.job_class, "Class to run in")->option_text("C");
  command.add_option("--job", request.job, "Job to belong to; processes of one job share its limit")->option_text("J");
  command.add_option("--sim", request.sim, "Simulate N GPUs of this size: no hardware needed")->option_text("SIZE[xN]");
}

}  // namespace cupool::tool
