// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/match.h"
#include "policy/policy.h"
#include "policy/resolve.h"

/// Several policies at once. A pool has one set of rules, so the most trusted policy governs it; one of lower trust speaks for its
/// own job only and can only ask for less: a lower limit, a lower priority, shorter waits. What it asked for beyond that is
/// clipped.
namespace cupool::policy {

/// A policy and what messages call it: its path, or "built-in".
struct NamedPolicy {
  std::string name;
  Policy policy;
};

/// A wish that was not granted in full.
struct Clip {
  std::string key;     ///< of keys.def, such as "limit"
  std::string wanted;  ///< as text, with the layer that wanted it
  std::string kept;
  std::string text;  ///< "limit: own.json asks for 40 GiB, /etc/cupool/policy.json allows 20 GiB: 20 GiB applies"
};

struct Layers {
  NamedPolicy governing;                    ///< binding for everybody: root-owned; without such a file simply the one chosen
  bool governing_binds = false;             ///< false: the user may choose any class of it
  std::optional<NamedPolicy> own;           ///< of lower trust than `governing`
  std::optional<std::string> wanted_class;  ///< by CUPOOL_CLASS or --class
};

/// What applies to one job on one device.
struct Composed {
  Terms terms;  ///< of the governing policy
  JobTerms job;
  JobMatch match;  ///< in the governing policy
  std::optional<JobMatch> own_match;
  FrameworkRules frameworks;  ///< the own policy's where it has one, like report and log
  ReportRules report;
  LogRules log;
  std::vector<Clip> clips;
  std::vector<Misfit> misfits;  ///< of the governing policy on this device, and an unknown wanted class
  bool usable() const;          ///< no misfit is an error
};

/// Pure. `job` never exceeds what the governing policy gives this identity when that policy binds.
Composed compose(const Layers& layers, const Identity& identity, const DeviceFacts& device, const MachineFacts& machine);

/// The lesser of both in every value that has a direction. One clip for each value in which `wanted` asked for more than `bound`.
JobTerms tighten(const JobTerms& bound, const JobTerms& wanted, const std::string& bound_name, const std::string& wanted_name,
                 Bytes unit, std::vector<Clip>& clips);

}  // namespace cupool::policy
