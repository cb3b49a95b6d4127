// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "policy/host/identity.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/policy_input.h"

namespace cupool::tool {
namespace {

enum class Format { text, json, github };

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> devices;
  bool strict = false;
  Format format = Format::text;
};

/// Properties and messages of a workflow command end at these characters.
std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (is_property && c == ':')
      out += "%3A";
    else if (is_property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

void print_github(const PolicyInput& input) {
  for (const policy::Problem& problem : input.loaded.problems.list()) {
    const policy::LineColumn place = policy::line_column(input.text, problem.where.begin);
    const std::string text = problem.pointer.empty() ? problem.text : policy::printable(problem.pointer, 300) + ": " + problem.text;
    fmt::print("::{} file={},line={},col={}::{}\n", problem.severity == policy::Severity::error ? "error" : "warning",
               escaped(policy::printable(input.name, 4096), true), place.line, place.column, escaped(text, false));
  }
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_text(const PolicyInput& input, const Session& session) {
  const policy::Problems& problems = input.loaded.problems;
  fmt::print("{}", problems_text(input, session));
  if (!problems.empty())
    fmt::print("{}, {}\n", counted(problems.errors(), "error"), counted(problems.warnings(), "warning"));
  else if (!session.quiet)
    fmt::print("{}: {}\n", policy::printable(input.name, 4096), session.styled(Style::green, "ok"));
}

class Check {
 public:
  Check(const Options& options, const Session& session) : options_(options), session_(session) {}

  int run() {
    for (const std::string& text : options_.devices) {
      auto device = read_device(text, static_cast<std::uint32_t>(devices_.size()));
      if (!device) return cannot_run(device.error());
      devices_.push_back(std::move(*device));
    }
    for (const std::string& name : options_.files) check(name);
    if (is_json()) {
      const nlohmann::ordered_json document{
          {"kind", "cupool.policy_check"}, {"version", 1}, {"ok", code_ == kOk}, {"files", files_}};
      fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    }
    return code_;
  }

 private:
  bool is_json() const { return session_.json || options_.format == Format::json; }

  void check(const std::string& name) {
    auto read = read_policy_input(name);
    if (!read) {
      code_ = cannot_run(read.error());
      files_.push_back({{"file", policy::printable(name, 4096)}, {"ok", false}, {"cannot_read", read.error()}});
      return;
    }
    PolicyInput& input = **read;
    if (input.loaded.policy && !devices_.empty()) check_on_devices(input);
    const bool failed = input.loaded.problems.errors() > 0 || (options_.strict && input.loaded.problems.warnings() > 0);
    if (failed && code_ == kOk) code_ = kFindings;
    if (is_json()) {
      files_.push_back({{"file", policy::printable(input.name, 4096)},
                        {"ok", !failed},
                        {"errors", input.loaded.problems.errors()},
                        {"warnings", input.loaded.problems.warnings()},
                        {"problems", problems_json(input)}});
    } else if (options_.format == Format::github) {
      print_github(input);
    } else {
      print_text(input, session_);
    }
  }

  void check_on_devices(PolicyInput& input) {
    const policy::MachineFacts machine = policy::host::read_machine();
    add_misfits(input, policy::unknown_devices(*input.loaded.policy, devices_), {});
    for (const policy::DeviceFacts& device : devices_) {
      add_misfits(input, policy::resolve(*input.loaded.policy, device, machine).misfits,
                  device.uuid + " (" + to_text(device.total) + ')');
    }
  }

  const Options& options_;
  const Session& session_;
  std::vector<policy::DeviceFacts> devices_;
  nlohmann::ordered_json files_ = nlohmann::ordered_json::array();
  int code_ = kOk;
};

}  // namespace

void add_policy_check(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "check", "Say everything that is wrong with policy files",
                                  {"cupool policy check lab.json", "cupool policy check --strict --gpu GPU-5d1e=80GiB lab.json",
                                   "cupool policy check --format github config/*.json"});
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Policy files; - is standard input")->required()->option_text(" ");
  command->add_flag("--strict", options->strict, "Warnings count as errors");
  command
      ->add_option("--gpu", options->devices,
                   "Check what the policy amounts to on this device as well; may be given for each device")
      ->option_text("UUID=SIZE")
      ->allow_extra_args(false);
  const std::map<std::string, Format> formats{{"text", Format::text}, {"json", Format::json}, {"github", Format::github}};
  command->add_option("--format", options->format, "text, json, or github for its annotations")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->option_text("FORMAT");
  command->callback([options, &session] { session.action = [options, &session] { return Check(*options, session).run(); }; });
}

}  // namespace cupool::tool
