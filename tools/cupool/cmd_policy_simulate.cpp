// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "policy/parse.h"
#include "policy/simulate/engine.h"
#include "policy/simulate/scenario.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/policy_input.h"
#include "tools/cupool/simulation_output.h"

namespace cupool::tool {
namespace {

struct Options {
  std::string scenario;
  std::optional<std::string> policy, svg;
  std::size_t events = 200, width = 100;
};

/// A scenario file as far as it was understood. The document refers to the text, so that this never moves.
struct ScenarioInput {
  std::string name;
  std::string text;
  std::optional<policy::Document> document;
  policy::Problems problems;
  policy::Scenario scenario;
};

int report(const policy::Problems& problems, const std::string& name, const std::string& text) {
  fmt::print(stderr, "{}", policy::render(problems, name, text));
  return kCannotRun;
}

tl::expected<std::unique_ptr<ScenarioInput>, std::string> read_scenario(const std::string& name) {
  auto text = read_input_text(name);
  if (!text) return tl::unexpected(text.error());
  auto input = std::make_unique<ScenarioInput>();
  input->name = name == "-" ? "<stdin>" : name;
  input->text = std::move(*text);
  input->document = policy::parse(input->text, input->problems);
  if (input->document) input->scenario = policy::decode_scenario(*input->document, input->problems);
  input->problems.sort();
  return input;
}

/// The scenario's text with everything but `keep` blanked, so that what is said about the policy in it names the right lines.
std::string all_blank_but(std::string text, policy::Stretch keep) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((i < keep.begin || i >= keep.end) && text[i] != '\n') text[i] = ' ';
  return text;
}

std::string beside(const std::string& scenario, const std::string& file) {
  const std::size_t slash = scenario.rfind('/');
  return file.starts_with('/') || slash == std::string::npos ? file : scenario.substr(0, slash + 1) + file;
}

/// The policy to simulate: the one given, else the scenario's, else the built-in one.
tl::expected<std::unique_ptr<PolicyInput>, std::string> find_policy(const Options& options, const ScenarioInput& input) {
  if (options.policy) return read_policy_input(*options.policy);
  if (input.scenario.policy_file) return read_policy_input(beside(options.scenario, *input.scenario.policy_file));
  auto own = std::make_unique<PolicyInput>();
  if (input.scenario.policy_text) {
    own->name = input.name;
    own->text = all_blank_but(input.text, *input.scenario.policy_text);
    own->loaded = policy::load(own->text);
  } else {
    own->name = "the built-in policy";
    own->text = R"({"version": 1})";  // states nothing, so that everything is the built-in policy's
    own->loaded = policy::load(own->text);
  }
  return own;
}

bool write_file(const std::string& name, const std::string& text, std::string& why) {
  std::FILE* file = std::fopen(name.c_str(), "we");
  if (file == nullptr) {
    why = fmt::format("cannot write {}: {}", policy::printable(name), std::strerror(errno));
    return false;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && written) return true;
  why = fmt::format("cannot write {}: {}", policy::printable(name), std::strerror(errno));
  return false;
}

int simulate(const Options& options, const Session& session) {
  auto input = read_scenario(options.scenario);
  if (!input) return cannot_run(input.error());
  ScenarioInput& scenario = **input;
  if (scenario.problems.errors() > 0) return report(scenario.problems, scenario.name, scenario.text);
  auto found = find_policy(options, scenario);
  if (!found) return cannot_run(found.error());
  PolicyInput& chosen = **found;
  if (!chosen.loaded.policy) return report(chosen.loaded.problems, chosen.name, chosen.text);
  const policy::Resolved resolved = policy::resolve(*chosen.loaded.policy, scenario.scenario.device, scenario.scenario.machine);
  if (!resolved.usable()) {
    add_misfits(chosen, resolved.misfits, scenario.scenario.device.uuid);
    return report(chosen.loaded.problems, chosen.name, chosen.text);
  }
  policy::Prepared prepared = policy::prepare(scenario.scenario, *chosen.loaded.policy, resolved.terms, scenario.problems);
  if (scenario.problems.errors() > 0) return report(scenario.problems, scenario.name, scenario.text);

  Simulated simulated{.scenario = scenario.name,
                      .policy = chosen.name,
                      .device = scenario.scenario.device,
                      .plan = std::move(prepared.plan),
                      .history = {},
                      .expected = prepared.expectations.size(),
                      .broken = {}};
  simulated.history = policy::simulate(simulated.plan);
  simulated.broken = policy::broken(prepared.expectations, simulated.plan, simulated.history);
  std::string why;
  if (options.svg && !write_file(*options.svg, simulation_svg(simulated), why)) return cannot_run(why);
  fmt::print("{}", session.json ? simulation_json(simulated) : simulation_text(simulated, session, options.events, options.width));
  return simulated.broken.empty() && !simulated.history.cut_short ? kOk : kFindings;
}

}  // namespace

void add_policy_simulate(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(
      parent, "simulate", "Play a scenario of jobs against a policy, without a GPU: who has what, waits, is refused, and why",
      {"cupool policy simulate scenario.json", "cupool policy simulate --policy new.json --svg timeline.svg scenario.json"});
  auto options = std::make_shared<Options>();
  command->add_option("SCENARIO", options->scenario, "A scenario file; - is standard input")->required()->option_text(" ");
  command->add_option("--policy", options->policy, "This policy file instead of the scenario's own")->option_text("P");
  command->add_option("--svg", options->svg, "Also draw the timeline into this file")->option_text("FILE");
  command->add_option("--events", options->events, "How many rows of what happened to show (200)")->option_text("N");
  command->add_option("--width", options->width, "Columns of the timeline (100)")->check(CLI::Range(40, 1000))->option_text("N");
  command->callback([options, &session] { session.action = [options, &session] { return simulate(*options, session); }; });
}

}  // namespace cupool::tool
