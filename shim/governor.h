// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "policy/host/governance.h"
#include "policy/layers.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// Whether this process's allocations are governed, and if not, why.
enum class Stance : int {
  governed,
  off,     ///< CUPOOL=off was asked for and may be: everything passes through
  open,    ///< no policy can be used and CUPOOL_ON_ERROR=open may be honoured: passes through, reported as not governed
  closed,  ///< no policy can be used: allocations are refused
};

/// What the policy says about this process. Read once, at the first governed call; immutable afterwards. Thread-safe.
class Governor {
 public:
  /// Reads the environment, the policy files and who this process is. No driver call. Costs a few milliseconds at most. Where the
  /// host has no memory for that, the stance is `closed`.
  Governor() noexcept;

  Stance stance() const { return stance_; }
  /// Of any stance but governed: what to tell the user, in a sentence or more.
  const std::string& reason() const { return reason_; }

  /// The job's terms on one device. `misfits` that are errors make the device unusable: allocations on it are refused.
  policy::Composed compose(const policy::DeviceFacts& device) const;

  const policy::host::Settings& settings() const { return settings_; }
  const policy::host::Environment& environment() const { return environment_; }
  const policy::Identity& identity() const { return identity_; }
  /// The file that governs, or "built-in default".
  std::string policy_name() const;
  /// CUPOOL_JOB, or a name made of the process's number.
  const std::string& job() const { return job_; }
  /// The class that applies to the job, and why. Does not depend on the device.
  struct Membership {
    std::string job_class;
    std::string reason;
  };
  Membership membership() const;
  /// The rules for reports of whoever speaks for this job.
  policy::ReportRules report_rules() const;
  /// The policy in force, as a JSON document.
  std::string effective_policy() const;
  /// A variable of the environment as it was when the session started.
  std::optional<std::string> variable(std::string_view name) const;

 private:
  void read();

  policy::host::Environment environment_;
  policy::host::Settings settings_;
  policy::host::Governance governance_;
  policy::Identity identity_;
  policy::MachineFacts machine_;
  Stance stance_ = Stance::governed;
  std::string reason_;
  std::string job_;
};

}  // namespace cupool::shim
