// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/policy_input.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "policy/names.h"
#include "policy/parse.h"

namespace cupool::tool {
namespace {

tl::expected<std::string, std::string> read_standard_input() {
  std::string text(policy::kMostText + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(STDIN_FILENO, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(fmt::format("cannot read standard input: {}", std::strerror(errno)));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

void replace_first(std::string& text, std::string_view what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

tl::expected<std::string, std::string> read_input_text(const std::string& name) {
  if (name == "-") return read_standard_input();
  auto file = policy::host::read_policy_file(name);
  if (!file) return tl::unexpected(file.error());
  return std::move(file->text);
}

tl::expected<std::unique_ptr<PolicyInput>, std::string> read_policy_input(const std::string& name) {
  auto text = read_input_text(name);
  if (!text) return tl::unexpected(text.error());
  auto input = std::make_unique<PolicyInput>();
  input->name = name == "-" ? "<stdin>" : name;
  input->text = std::move(*text);
  input->loaded = policy::load(input->text);
  return input;
}

tl::expected<policy::DeviceFacts, std::string> read_device(const std::string& text, std::uint32_t number) {
  const std::size_t equals = text.find('=');
  policy::DeviceFacts device;
  device.index = number;
  device.uuid = equals == std::string::npos ? fmt::format("GPU-{}", number) : text.substr(0, equals);
  const bool is_uuid = device.uuid.size() > 4 && policy::is_device_selector(device.uuid);
  if (!is_uuid)
    return tl::unexpected(fmt::format("--gpu {}: not a UUID; write for example GPU-5d1e=80GiB", policy::printable(text)));
  const auto size = policy::read_size(equals == std::string::npos ? text : text.substr(equals + 1));
  if (!size.value || size.value->kind != policy::Size::Kind::bytes) {
    return tl::unexpected(fmt::format(
        "--gpu {}: {}", policy::printable(text),
        size.value ? "the size of a device is in bytes; write for example GPU-5d1e=80GiB" : policy::printable(size.reason, 200)));
  }
  device.total = Bytes{size.value->value};
  return device;
}

void add_misfits(PolicyInput& input, const std::vector<policy::Misfit>& misfits, const std::string& device) {
  for (const policy::Misfit& misfit : misfits) {
    const auto severity = misfit.severity == policy::Misfit::Severity::error ? policy::Severity::error : policy::Severity::warning;
    input.loaded.problems.add(severity, input.loaded.document->place_of(misfit.pointer), misfit.pointer,
                              device.empty() ? misfit.text : "on " + device + ": " + misfit.text);
  }
  input.loaded.problems.sort();
}

nlohmann::ordered_json problems_json(const PolicyInput& input) {
  auto list = nlohmann::ordered_json::array();
  for (const policy::Problem& problem : input.loaded.problems.list()) {
    const policy::LineColumn begin = policy::line_column(input.text, problem.where.begin);
    const policy::LineColumn end = policy::line_column(input.text, problem.where.end);
    list.push_back({{"severity", problem.severity == policy::Severity::error ? "error" : "warning"},
                    {"line", begin.line},
                    {"column", begin.column},
                    {"end_line", end.line},
                    {"end_column", end.column},
                    {"pointer", policy::printable(problem.pointer, 300)},
                    {"text", problem.text}});
  }
  return list;
}

std::string problems_text(const PolicyInput& input, const Session& session) {
  std::string out;
  for (const policy::Problem& problem : input.loaded.problems.list()) {
    std::string text = policy::render(problem, input.name, input.text);
    if (problem.severity == policy::Severity::error)
      replace_first(text, " error: ", ' ' + session.styled(Style::red, "error:") + ' ');
    else
      replace_first(text, " warning: ", ' ' + session.styled(Style::yellow, "warning:") + ' ');
    out += text;
  }
  const policy::Problems& problems = input.loaded.problems;
  const std::size_t left_out = problems.errors() + problems.warnings() - problems.list().size();
  return left_out > 0 ? out + fmt::format("and {} more\n", left_out) : out;
}

}  // namespace cupool::tool
