// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/host/settings.h"
#include "policy/match.h"
#include "policy/resolve.h"

namespace cupool::policy::host {

/// Who this process is. Names of users and groups are looked up only where the policy needs them, because a lookup may ask a
/// directory service. What cannot be read stays empty and then fits no pattern. Command line and variables are cut at 16 KiB each.
Identity read_identity(const Environment& environment, const IdentityNeeds& needs);

/// The same for a command that does not run yet: this process's user, group, control group and directory, that command line.
Identity identity_for(const std::vector<std::string>& command, const Environment& environment, const IdentityNeeds& needs);

/// The path of the control group in the text of /proc/PID/cgroup: the unified hierarchy's, else the one of systemd, else the first.
std::string cgroup_path(std::string_view proc_cgroup);

/// Physical cores by the kernel's topology; where it says nothing, the processors that are online.
MachineFacts read_machine();

}  // namespace cupool::policy::host
