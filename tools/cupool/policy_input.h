// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/host/policy_file.h"
#include "policy/load.h"
#include "policy/resolve.h"
#include "tools/cupool/session.h"

/// What the policy sub-commands read: files named on the command line, and devices described there.
namespace cupool::tool {

/// A policy file and what there is to say about it. The document refers to the text, so that this never moves.
struct PolicyInput {
  std::string name;
  std::string text;
  policy::Loaded loaded;
};

/// The text of a file of at most the size of a policy, or of standard input for "-". The error is for cannot_run().
tl::expected<std::string, std::string> read_input_text(const std::string& name);

/// Reads a policy the same way.
tl::expected<std::unique_ptr<PolicyInput>, std::string> read_policy_input(const std::string& name);

/// "UUID=SIZE" or "SIZE": `number` becomes the index. The error is a sentence.
tl::expected<policy::DeviceFacts, std::string> read_device(const std::string& text, std::uint32_t number);

/// Adds what is wrong with the policy on a device to its problems. Only for a policy that loaded.
void add_misfits(PolicyInput& input, const std::vector<policy::Misfit>& misfits, const std::string& device);

/// {"severity", "line", "column", "end_line", "end_column", "pointer", "text"} for each problem.
nlohmann::ordered_json problems_json(const PolicyInput& input);

/// The text rendering with the severities coloured.
std::string problems_text(const PolicyInput& input, const Session& session);

}  // namespace cupool::tool
