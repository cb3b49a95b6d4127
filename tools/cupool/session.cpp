// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/session.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace cupool::tool {
namespace {

bool wants_color(ColorMode mode) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') && !is_dumb;
}

const char* code_of(Style style) {
  switch (style) {
    case Style::bold:
      return "1";
    case Style::red:
      return "31";
    case Style::yellow:
      return "33";
    case Style::green:
      return "32";
    case Style::dim:
      return "2";
    case Style::plain:
      break;
  }
  return "0";
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (c == '\x1b') in_escape = true;
    if (!in_escape && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++columns;
    if (in_escape && c == 'm') in_escape = false;
  }
  return columns;
}

}  // namespace

std::string Session::styled(Style style, std::string_view text) const {
  if (style == Style::plain || !wants_color(color)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& what,
                      const std::vector<std::string>& examples) {
  std::string description = what;
  if (!examples.empty()) description += "\n\nExamples:";
  for (const std::string& example : examples) description += "\n  " + example;
  CLI::App* command = parent.add_subcommand(name, description);
  command->fallthrough();
  return command;
}

int cannot_run(std::string_view why) {
  fmt::print(stderr, "cupool: error: {}\n", why);
  return kCannotRun;
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  }
  return out;
}

}  // namespace cupool::tool
