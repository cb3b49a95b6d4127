// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cupool/session.h"

/// One function for each sub-command, in a file of its own: it adds options to `parent` and sets session.action when chosen. Both
/// references outlive the command.
namespace cupool::tool {

void add_run(CLI::App& parent, Session& session);
void add_env(CLI::App& parent, Session& session);
void add_report(CLI::App& parent, Session& session);
void add_policy_check(CLI::App& parent, Session& session);
void add_policy_explain(CLI::App& parent, Session& session);
void add_policy_schema(CLI::App& parent, Session& session);
void add_policy_init(CLI::App& parent, Session& session);
void add_policy_diff(CLI::App& parent, Session& session);
void add_policy_simulate(CLI::App& parent, Session& session);

}  // namespace cupool::tool
