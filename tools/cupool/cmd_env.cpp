// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "tools/cupool/commands.h"
#include "tools/cupool/launch/run_options.h"
#include "tools/cupool/launch/run_plan.h"

namespace cupool::tool {
namespace {

std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char character : value) {
    if (character == '\'')
      text += "'\\''";
    else
      text += character;
  }
  return text + "'";
}

int print_exports(const RunRequest& request) {
  const Result<Installation> installation = find_installation();
  if (!installation) return cannot_run(installation.error().detail);
  if (const auto governance = read_policy(request); !governance) return cannot_run(governance.error());
  // Nobody removes what a shell goes on using: a path that needs a staging folder is refused instead.
  const auto environment = plan_environment(request, *installation, "", new_run_id(), "");
  if (!environment) return cannot_run(environment.error() + ": move cupool to a path without blanks and colons, or use cupool run");
  for (const auto& [name, value] : *environment) {
    if (name == "CUPOOL_RUN" || name == "SIMGPU_DIR" || (name == "CUPOOL_JOB" && !request.job)) continue;
    fmt::print("export {}={}\n", name, quoted(value));
  }
  return kOk;
}

}  // namespace

void add_env(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "env", "Print the export lines that put a shell's programs under the policy",
                                  {"eval \"$(cupool env --policy lab.json)\"", "cupool env --class batch >> job.sh"});
  auto request = std::make_shared<RunRequest>();
  add_run_options(*command, *request);
  command->callback([request, &session] { session.action = [request] { return print_exports(*request); }; });
}

}  // namespace cupool::tool
