// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "policy/encode.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/policy_input.h"

namespace cupool::tool {
namespace {

struct Options {
  std::string first, second;
};

struct Difference {
  std::string pointer;
  std::string first, second;  ///< empty: not there
};

/// What a key comes to when nothing is written, for a value that one side leaves out.
std::string shown(const std::string& json) {
  return json.empty() ? "(none)" : policy::printable(json, 200);
}

std::vector<Difference> differences(const policy::Policy& first, const policy::Policy& second) {
  const auto before = policy::encode(first);
  const auto after = policy::encode(second);
  const auto find = [](const std::vector<policy::EncodedValue>& values, const std::string& pointer) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const policy::EncodedValue& value) { return value.pointer == pointer; });
    return found == values.end() ? std::string() : found->json;
  };
  std::vector<Difference> list;
  for (const policy::EncodedValue& value : before) {
    if (value.spec->key == policy::Key::root_schema) continue;
    const std::string other = find(after, value.pointer);
    if (other != value.json) list.push_back({value.pointer, value.json, other});
  }
  for (const policy::EncodedValue& value : after) {
    if (value.spec->key == policy::Key::root_schema) continue;
    if (find(before, value.pointer).empty()) list.push_back({value.pointer, {}, value.json});
  }
  return list;
}

/// The policy, or nothing after its problems have been printed and `code` set.
std::unique_ptr<PolicyInput> read_valid(const std::string& name, int& code) {
  auto input = read_policy_input(name);
  if (!input) {
    code = cannot_run(input.error());
    return nullptr;
  }
  if ((*input)->loaded.policy) return std::move(*input);
  fmt::print(stderr, "{}", policy::render((*input)->loaded.problems, (*input)->name, (*input)->text));
  code = kCannotRun;
  return nullptr;
}

int print_differences(const Options& options, const Session& session) {
  int code = kOk;
  const auto first = read_valid(options.first, code);
  const auto second = first ? read_valid(options.second, code) : nullptr;
  if (!second) return code;
  const std::vector<Difference> list = differences(*first->loaded.policy, *second->loaded.policy);
  if (session.json) {
    auto entries = nlohmann::ordered_json::array();
    const auto value = [](const std::string& json) {
      return json.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json::parse(json);
    };
    for (const Difference& entry : list)
      entries.push_back({{"pointer", entry.pointer}, {"first", value(entry.first)}, {"second", value(entry.second)}});
    const nlohmann::ordered_json document{
        {"kind", "cupool.policy_diff"}, {"version", 1}, {"equal", list.empty()}, {"differences", entries}};
    fmt::print("{}\n", document.dump(2));
  } else {
    Table table;
    for (const Difference& entry : list)
      table.add({policy::printable(entry.pointer, 300), shown(entry.first), "->  " + shown(entry.second)});
    fmt::print("{}", table.text());
    if (list.empty() && !session.quiet) fmt::print("both mean the same\n");
  }
  return list.empty() ? kOk : kFindings;
}

}  // namespace

void add_policy_diff(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "diff", "Show in which values two policies differ, defaults included",
                                  {"cupool policy diff old.json new.json"});
  auto options = std::make_shared<Options>();
  command->add_option("FIRST", options->first, "A policy file; - is standard input")->required()->option_text(" ");
  command->add_option("SECOND", options->second, "Another one")->required()->option_text(" ");
  command->callback([options, &session] { session.action = [options, &session] { return print_differences(*options, session); }; });
}

}  // namespace cupool::tool
