// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "policy/load.h"

/// Small policies for tests.
namespace cupool::policy {

/// A policy that states one value: the pointer is that of keys.def ("/classes/*/limit"), `json` the value.
std::string document_with(std::string_view pointer, std::string_view json);

/// The texts of all problems, one per line, without places.
std::string problem_texts(const Problems& problems);

/// The policy of a text that must be valid; fails the test with its problems otherwise.
Policy policy_of(std::string_view text);

}  // namespace cupool::policy
