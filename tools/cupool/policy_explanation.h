// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/host/governance.h"
#include "policy/layers.h"
#include "tools/cupool/session.h"

/// What `cupool policy explain` has to say, apart from how it is written.
namespace cupool::tool {

/// One value: as written, what it amounts to, and where it stands.
struct ExplainedValue {
  std::string key;
  std::string written;
  std::optional<Bytes> exact;  ///< before it was rounded down to units; only where a device is known
  std::optional<Units> units;
  std::string here;  ///< what it comes to on this machine, where that is not a number of units
  std::string from;  ///< "lab.json:12:30", "default", "entry 2 of jobs"
};

struct ExplainedDevice {
  policy::DeviceFacts facts;
  Bytes unit;
  std::vector<ExplainedValue> pool;
  std::vector<ExplainedValue> job;
  std::vector<policy::Clip> clips;
  std::vector<policy::Misfit> misfits;
};

struct Explanation {
  std::string policy;              ///< the governing one
  std::string policy_reason;       ///< why it is this one
  std::optional<std::string> own;  ///< a second one that may only tighten
  bool binds = false;
  std::string command;
  std::string user;
  std::string class_name;
  std::string class_reason;
  std::vector<std::string> passed_over;  ///< entries that do not apply, and why
  std::vector<ExplainedValue> other;     ///< values that do not depend on the device: queue, admission, report...
  std::vector<ExplainedDevice> devices;
  std::vector<ExplainedValue> written;  ///< pool and class as written, where no device is known
  std::vector<std::string> notes;
  bool off = false;
  bool usable = true;  ///< false when the policy makes no sense on a device, or the class that was asked for does not exist
};

Explanation explain_policy(const policy::host::Governance& governance, const policy::Identity& identity,
                           const std::vector<policy::DeviceFacts>& devices);

std::string explanation_text(const Explanation& explanation, const Session& session);
std::string explanation_json(const Explanation& explanation);

}  // namespace cupool::tool
