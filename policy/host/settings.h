// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/base/log.h"

/// What the environment says about cupool. The environment belongs to the user: it can choose and it can tighten, never loosen.
namespace cupool::policy::host {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A copy of this process's environment. Not safe while another thread changes it: read it once, at the start.
Environment process_environment();

struct SettingSpec {
  std::string_view variable;
  std::string_view meaning;
};
/// The rows of settings.def.
std::span<const SettingSpec> setting_specs();

struct Settings {
  bool wants_off = false;   ///< CUPOOL=off; whether it is honoured is Governance's decision
  bool wants_open = false;  ///< CUPOOL_ON_ERROR=open; the same
  std::optional<std::string> policy;
  std::optional<std::string> job;
  std::optional<std::string> class_name;
  std::optional<log::Level> log;
  std::optional<std::string> report;
  std::vector<std::string> warnings;  ///< unknown variables and values that are ignored; each once, safe to print
};

/// Never fails: what cannot be used is ignored with a warning. Variables that begin with CUPOOL_SIM_ or CUPOOL_TEST_ belong to the
/// simulator and to the tests and are passed over; an empty value is the same as none.
Settings read_settings(const Environment& environment);

}  // namespace cupool::policy::host
