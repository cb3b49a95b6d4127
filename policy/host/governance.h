// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/host/policy_file.h"
#include "policy/host/settings.h"
#include "policy/layers.h"
#include "policy/load.h"

/// Which policy applies to this process: the search, the trust in what was found, and what happens when it cannot be used.
namespace cupool::policy::host {

/// Where policies are looked for.
struct Places {
  std::string system_directory = "/etc/cupool";
  std::string user_directory;  ///< $XDG_CONFIG_HOME/cupool or ~/.config/cupool; empty where there is neither
  std::uint32_t user = 0;      ///< effective uid
};
Places places_of(const Environment& environment);

/// $XDG_STATE_HOME or ~/.local/state: what %s of a report's path stands for. Empty where there is neither.
std::string state_directory_of(const Environment& environment);

/// One file, read and checked. Document and problems refer to the file's text, which stays where it is.
struct PolicySource {
  PolicyFile file;
  Loaded loaded;
  bool binds = false;  ///< root-owned, and not merely because the user is root
};

struct Governance {
  enum class State {
    governed,
    off,     ///< the user asked for it and no root-owned policy applies
    broken,  ///< a policy was named or installed and cannot be used: nothing may be granted, and the launcher must not start
  };
  State state = State::governed;
  std::string reason;                                      ///< of off and broken; may have several lines, ends without a newline
  Layers layers;                                           ///< for compose(); of use when governed
  std::unique_ptr<PolicySource> system;                    ///< the installed file, if there is one
  std::unique_ptr<PolicySource> chosen;                    ///< the one that was named or is the user's own
  std::vector<std::string> notes;                          ///< for the log, once each: ignored wishes, warnings of the files
  std::vector<std::pair<std::string, FileStamp>> watched;  ///< what changed() compares
};

/// Reads everything anew. `named` is --policy and goes before CUPOOL_POLICY; `wanted_class` is --class and goes before
/// CUPOOL_CLASS. Never fails otherwise than by State::broken. Costs a few system calls and at most some milliseconds.
///
/// The system's policy.json, when root owns it and nobody else may write to it, governs and binds: the chosen file then only
/// tightens. A system file that somebody else could have written is refused, not used and not ignored.
Governance read_governance(const Settings& settings, const std::optional<std::string>& named,
                           const std::optional<std::string>& wanted_class, const Places& places);

/// Whether a file that was read, or looked for, is another one now. One stat for each: a microsecond or two.
bool changed(const Governance& governance);

/// Reads again when changed(). A new state that is broken is not taken over: the old policy stays, and the reason is returned.
/// Nothing is returned when there was nothing new or the new one is in force.
std::optional<std::string> refresh(Governance& governance, const Settings& settings, const std::optional<std::string>& named,
                                   const std::optional<std::string>& wanted_class, const Places& places);

/// Where a bare policy name is looked up, in order; for a path, the path alone.
std::vector<std::string> candidates_for(const std::string& name, const Places& places);

}  // namespace cupool::policy::host
