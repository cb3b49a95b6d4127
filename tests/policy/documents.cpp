// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/documents.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cupool::policy {

std::string document_with(std::string_view pointer, std::string_view json) {
  std::vector<std::string> tokens;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    tokens.emplace_back(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(tokens.back().size());
  }
  std::string out(json);
  for (std::size_t i = tokens.size(); i-- > 0;) {
    if (tokens[i] == "0") {
      out = '[' + out + ']';
      continue;
    }
    const bool is_outermost = i == 0;
    const bool needs_version = is_outermost && tokens[i] != "version";
    const std::string name = tokens[i] == "*" ? (tokens[0] == "devices" ? "*" : "c") : tokens[i];
    out = std::string("{") + (needs_version ? R"("version": 1, )" : "") + '"' + name + "\": " + out + '}';
  }
  return out;
}

std::string problem_texts(const Problems& problems) {
  std::string out;
  for (const Problem& problem : problems.list()) {
    out += (problem.severity == Severity::error ? "error: " : "warning: ") + problem.pointer + ": " + problem.text + '\n';
  }
  return out;
}

Policy policy_of(std::string_view text) {
  Loaded loaded = load(text);
  INFO(text << '\n' << problem_texts(loaded.problems));
  REQUIRE(loaded.policy.has_value());
  return *loaded.policy;
}

}  // namespace cupool::policy
