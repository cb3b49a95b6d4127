// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <map>
#include <memory>

#include "policy/problem.h"
#include "policy/suggest.h"
#include "tools/cupool/commands.h"

namespace cupool::tool {
namespace {

/// Lists sub-commands by the first line of what they say about themselves; the examples below it are for their own help.
class FirstLineFormatter final : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string description = command->get_description();
    return fmt::format("  {:<10} {}\n", command->get_name(), description.substr(0, description.find('\n')));
  }
};

void add_policy(CLI::App& app, Session& session) {
  CLI::App* policy = add_command(app, "policy", "Check, explain, compare and try out policy files",
                                 {"cupool policy check lab.json", "cupool policy explain -- python train.py"});
  policy->require_subcommand(1);
  add_policy_check(*policy, session);
  add_policy_explain(*policy, session);
  add_policy_schema(*policy, session);
  add_policy_init(*policy, session);
  add_policy_diff(*policy, session);
  add_policy_simulate(*policy, session);
}

/// What the parser did not understand, with the nearest thing that it would have: `cupool polcy`, `--stict`.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return error.what();
  const std::string& word = left.front();
  const bool is_option = word.starts_with('-');
  std::vector<std::string> names;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_option) names.push_back(sub->get_name());
  }
  for (const CLI::App* level = command; is_option && level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
    }
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string what = std::string(is_option       ? "unknown option "
                                       : names.empty() ? "one argument too many: "
                                                       : "unknown command ") +
                           policy::printable(word);
  return names.empty() ? what : what + policy::suggestion(word, candidates, is_option ? "the options are" : "the commands are");
}

void add_global_options(CLI::App& app, Session& session) {
  app.set_version_flag("--version", "cupool " CUPOOL_VERSION);
  app.add_flag("--json", session.json, "Machine-readable output");
  app.add_flag("-q,--quiet", session.quiet, "Only what went wrong");
  app.add_flag("-v,--verbose", session.verbosity, "More detail");
  const std::map<std::string, ColorMode> modes{
      {"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}};
  app.add_option("--color", session.color, "auto, always or never")
      ->transform(CLI::CheckedTransformer(modes).description(""))
      ->option_text("WHEN");
}

int run(int argc, char** argv) {
  Session session;
  CLI::App app{"Share one GPU's memory between unmodified CUDA programs, governed by one policy.", "cupool"};
  app.formatter(std::make_shared<FirstLineFormatter>());
  app.get_formatter()->column_width(34);
  add_global_options(app, session);
  add_run(app, session);
  add_env(app, session);
  add_report(app, session);
  add_policy(app, session);
  if (argc < 2) {
    fmt::print("{}", app.help());
    return kCannotRun;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of this parser that succeed.
    if (error.get_exit_code() == 0) return app.exit(error);
    cannot_run(usage_error(app, error));
    fmt::print(stderr, "Run with --help for more.\n");
    return kCannotRun;
  }
  return session.action ? session.action() : kCannotRun;
}

}  // namespace
}  // namespace cupool::tool

int main(int argc, char** argv) {
  try {
    return cupool::tool::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cupool: error: %s\n", error.what());
    return cupool::tool::kCannotRun;
  }
}
