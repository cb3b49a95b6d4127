// SPDX-License-Identifier: Apache-2.0
#include "policy/report_path.h"

#include <algorithm>

#include "policy/names.h"
#include "policy/problem.h"
#include "policy/utf8.h"

namespace cupool::policy {
namespace {

constexpr std::string_view kKnown = "%c, %p, %r, %h, %s, %q{VAR} and %%";

std::string one_component(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

}  // namespace

Read<std::string> expand_report_path(std::string_view path, const ReportPathParts& parts) {
  const auto refuse = [](std::string why) { return Read<std::string>{std::nullopt, std::move(why)}; };
  if (path.empty()) return refuse("the path is empty");
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (++i == path.size()) return refuse("a single % at the end; write %% for a percent sign");
    switch (path[i]) {
      case '%':
        out += '%';
        continue;
      case 'c':
        out += one_component(parts.command);
        continue;
      case 'p':
        out += one_component(parts.process);
        continue;
      case 'r':
        out += one_component(parts.run);
        continue;
      case 'h':
        out += one_component(parts.host);
        continue;
      case 's':
        out += parts.state_directory;
        continue;
      case 'q':
        break;
      default:
        return refuse("unknown placeholder %" +
                      printable(path.substr(i, std::max<std::size_t>(first_code_point(path.substr(i)).length, 1))) +
                      "; known are " + std::string(kKnown));
    }
    const std::size_t end = path.find('}', i);
    if (i + 1 == path.size() || path[i + 1] != '{' || end == std::string_view::npos)
      return refuse("%q stands without {VAR}; write %q{USER}");
    const std::string_view name = path.substr(i + 2, end - i - 2);
    if (!is_variable_name(name)) return refuse("%q{" + printable(name) + "} names no variable; write %q{USER}");
    const auto value = parts.variable(name);
    if (!value) return refuse("%q{" + std::string(name) + "}: the variable is not set");
    out += one_component(*value);
    i = end;
  }
  return {std::move(out), {}};
}

std::optional<std::string> report_path_fault(std::string_view path) {
  ReportPathParts any;
  any.variable = [](std::string_view) { return std::optional<std::string>("x"); };
  Read<std::string> expanded = expand_report_path(path, any);
  if (expanded.value) return std::nullopt;
  return std::move(expanded.reason);
}

}  // namespace cupool::policy
