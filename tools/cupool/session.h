// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What every sub-command shares: the options before it, the exit codes, and how it is registered.
namespace cupool::tool {

enum ExitCode : int {
  kOk = 0,
  kFindings = 1,   ///< a check failed, two policies differ
  kCannotRun = 2,  ///< wrong usage, or an input that cannot be read
};

enum class ColorMode { automatic, always, never };

/// A piece of terminal style; empty text where colours are off.
enum class Style { plain, bold, red, yellow, green, dim };

struct Session {
  bool json = false;
  bool quiet = false;
  int verbosity = 0;
  ColorMode color = ColorMode::automatic;
  /// Set by the sub-command that was chosen; main() runs it once the whole command line has been understood.
  std::function<int()> action;

  /// `text` in a style, when standard output is a terminal that wants colours (NO_COLOR and TERM=dumb do not).
  std::string styled(Style style, std::string_view text) const;
};

/// Adds a sub-command whose help begins with what it does and examples. `examples` are whole command lines.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& what, const std::vector<std::string>& examples);

/// Prints "cupool: error: ..." on standard error and returns kCannotRun.
int cannot_run(std::string_view why);

/// Lines up the columns of a table; the first row may be a heading. Cells may hold UTF-8; the last column is not padded.
class Table {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cupool::tool
