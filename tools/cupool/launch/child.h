// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/base/result.h"

namespace cupool::tool {

using EnvironmentChange = std::pair<std::string, std::string>;

/// How a command ended.
struct ChildEnd {
  std::optional<int> code;
  std::optional<int> signal;
};

/// Runs a command in the foreground with a changed environment and waits for it. Signals that are sent to this process go on to the
/// command; those of the terminal reach it by themselves. When the command is stopped, so is this process, until both go on.
/// Errc::not_found or invalid_argument when it could not be executed.
Result<ChildEnd> run_child(const std::string& path, const std::vector<std::string>& arguments,
                           const std::vector<EnvironmentChange>& changes);

/// Runs a small helper without input and output; its exit status, or nothing when it did not end by itself within `timeout_ms`.
std::optional<int> run_quietly(const std::string& path, const std::vector<std::string>& arguments,
                               const std::vector<EnvironmentChange>& changes, int timeout_ms);

/// Ends this process as the command ended: with its code, or by its signal (128 + signal when that does not end us).
[[noreturn]] void end_like(const ChildEnd& end);

}  // namespace cupool::tool
