// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shim/report/journal.h"

namespace cupool::report {

/// What only the writer of a report knows: the launcher, or a process that writes its own.
struct RunFacts {
  std::string id;
  std::string command;
  std::string host;
  std::string version;
  bool launched = false;           ///< `cupool run` wrote it: exit is known
  std::optional<int> exit_code;    ///< of the command
  std::optional<int> exit_signal;  ///< instead of a code
  std::uint64_t turned_away = 0;   ///< processes for which the journal had no room
  std::string policy_path;         ///< empty when the built-in default applied
  std::string policy_effective;    ///< JSON text, or empty
  std::vector<std::string> warnings;
};

/// The report of a run as JSON text (config/report.schema.json): sizes in bytes, times in nanoseconds since the start of the run.
///
/// Reads live records as well as finished ones. Never throws; the text is always a complete document.
std::string to_json(const RunFacts& run, const std::vector<const ProcessRecord*>& processes);

/// Joins reports into one: processes, warnings and counts of all. Texts that are not reports are an error, named by their position.
struct MergeOutcome {
  std::string json;   ///< empty on error
  std::string error;  ///< empty on success
};
MergeOutcome merge(const std::vector<std::string>& reports);

}  // namespace cupool::report
