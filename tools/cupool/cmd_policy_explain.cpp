// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "policy/host/governance.h"
#include "policy/host/identity.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/policy_explanation.h"
#include "tools/cupool/policy_input.h"

namespace cupool::tool {
namespace {

struct Options {
  std::optional<std::string> policy, class_name, user, cwd;
  std::vector<std::string> devices, env, command;
};

/// Who would run the command: this user, unless the options describe another one.
tl::expected<policy::Identity, std::string> described_identity(const Options& options,
                                                               const policy::host::Environment& environment) {
  policy::Identity identity = policy::host::identity_for(options.command, environment, {true, true});
  if (options.user) {
    identity.user = *options.user;
    identity.groups.clear();
    identity.uid = UINT32_MAX;
  }
  if (options.cwd) identity.cwd = *options.cwd;
  for (const std::string& assignment : options.env) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      return tl::unexpected(fmt::format("--env {}: write NAME=VALUE", policy::printable(assignment)));
    const std::string name = assignment.substr(0, equals);
    std::erase_if(identity.env, [&](const auto& variable) { return variable.first == name; });
    identity.env.emplace_back(name, assignment.substr(equals + 1));
  }
  return identity;
}

int explain(const Options& options, const Session& session) {
  std::vector<policy::DeviceFacts> devices;
  for (const std::string& text : options.devices) {
    auto device = read_device(text, static_cast<std::uint32_t>(devices.size()));
    if (!device) return cannot_run(device.error());
    devices.push_back(std::move(*device));
  }
  const policy::host::Environment environment = policy::host::process_environment();
  const policy::host::Settings settings = policy::host::read_settings(environment);
  const policy::host::Governance governance =
      policy::host::read_governance(settings, options.policy, options.class_name, policy::host::places_of(environment));
  if (governance.state == policy::host::Governance::State::broken) {
    fmt::print(stderr, "cupool: error: {}\n", governance.reason);
    return kCannotRun;
  }
  auto identity = described_identity(options, environment);
  if (!identity) return cannot_run(identity.error());
  const Explanation explanation = explain_policy(governance, *identity, devices);
  fmt::print("{}", session.json ? explanation_json(explanation) : explanation_text(explanation, session));
  return explanation.usable ? kOk : kFindings;
}

}  // namespace

void add_policy_explain(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(
      parent, "explain", "Show what applies to a program, in bytes and units, and which file and rule said so",
      {"cupool policy explain -- python train.py", "cupool policy explain --gpu GPU-5d1e=80GiB --class batch -- python train.py",
       "cupool policy explain --policy lab.json --user bo --env SLURM_JOB_PARTITION=prod -- ./serve"});
  auto options = std::make_shared<Options>();
  command->add_option("--policy", options->policy, "A path or a bare name, instead of CUPOOL_POLICY and the installed files")
      ->option_text("P");
  command->add_option("--class", options->class_name, "The class to ask for, instead of CUPOOL_CLASS")->option_text("C");
  command->add_option("--gpu", options->devices, "A device to work the figures out for; may be given for each device")
      ->option_text("UUID=SIZE")
      ->allow_extra_args(false);
  command->add_option("--user", options->user, "As if this user ran it")->option_text("NAME");
  command->add_option("--cwd", options->cwd, "As if it ran in this directory")->option_text("DIR");
  command->add_option("--env", options->env, "As if this variable were set; may be given several times")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("CMD", options->command, "The program and its arguments, behind --")->option_text("...");
  command->callback([options, &session] { session.action = [options, &session] { return explain(*options, session); }; });
}

}  // namespace cupool::tool
