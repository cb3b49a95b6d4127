// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "policy/base/result.h"

namespace cupool::report {

/// What the placeholders of a report's name stand for.
struct NameFacts {
  std::string command;                                                     ///< %c: base name of the program
  std::uint32_t pid = 0;                                                   ///< %p
  std::string run;                                                         ///< %r: without a launcher the process number
  std::string host;                                                        ///< %h
  std::string state_directory;                                             ///< %s
  std::function<std::optional<std::string>(const std::string&)> variable;  ///< %q{VAR}: the environment
};

/// A name with its placeholders filled in, or what is wrong with it: the text names the place and what may stand there.
struct ExpandedName {
  std::string path;   ///< empty on error
  std::string error;  ///< empty on success
};

/// Fills in %c %p %r %h %s %q{VAR} %%. Slashes in what %c, %r, %h and %q{} stand for become '_': a variable must not choose a
/// folder.
ExpandedName expand_name(std::string_view pattern, const NameFacts& facts);

/// $XDG_STATE_HOME, else $HOME/.local/state, else a folder of this user under the system's temporary directory.
std::string state_directory(const std::function<std::optional<std::string>(const std::string&)>& variable);

/// Writes a complete new file, or none: parents are made, a temporary file is renamed into place without replacing anything.
///
/// When `path` is taken, by whomever, `pid` goes before the ending ("train.json" -> "train.123.json"), then a number as well.
/// Returns the path that was written. Errc::io with what failed.
Result<std::string> write_new_file(const std::string& path, std::string_view content, std::uint32_t pid);

}  // namespace cupool::report
