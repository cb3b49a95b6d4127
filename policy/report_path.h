// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "policy/value.h"

namespace cupool::policy {

/// What the placeholders of a report's path stand for.
struct ReportPathParts {
  std::string command;          ///< %c: the program's file name
  std::string process;          ///< %p
  std::string run;              ///< %r
  std::string host;             ///< %h
  std::string state_directory;  ///< %s
  /// %q{VAR}: nothing when the variable is not set.
  std::function<std::optional<std::string>(std::string_view)> variable;
};

/// The path with its placeholders filled in. A "/" inside %c, %p, %r, %h or %q{} becomes "_", so that no value can lead elsewhere.
/// Refused: an unknown placeholder, a variable that is not set, an empty path.
Read<std::string> expand_report_path(std::string_view path, const ReportPathParts& parts);

/// The same check without values: why a path could not be expanded, or nothing.
std::optional<std::string> report_path_fault(std::string_view path);

}  // namespace cupool::policy
