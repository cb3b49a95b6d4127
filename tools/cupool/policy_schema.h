// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Documents that are written from keys.def.
namespace cupool::tool {

/// JSON schema (draft-07) of the policy file, for editors. Never stricter than the decoder: what it refuses, the decoder refuses.
std::string policy_schema();

/// The key table of config/README.md in Markdown.
std::string policy_key_table();

/// A policy with comments to start from: three classes, and every other key with its default behind `//`.
std::string policy_starter();

}  // namespace cupool::tool
