// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "policy/document.h"
#include "policy/policy.h"
#include "policy/problem.h"

namespace cupool::policy {

/// The text of a policy file, read and checked as a whole.
struct Loaded {
  std::optional<Policy> policy;      ///< only when there is no error at all: nothing is ever half applied
  std::optional<Document> document;  ///< where every value stands; refers to the text
  Problems problems;                 ///< in the order of the text
};

/// parse, decode and validate. The text must outlive `document`. Never throws; costs at most some tens of milliseconds, whatever
/// the text, and constant stack.
Loaded load(std::string_view text);

}  // namespace cupool::policy
