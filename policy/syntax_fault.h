// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "policy/problem.h"

namespace cupool::policy {

/// A text's first offence against JSON, in words that name the usual mistake (a trailing comma, NaN, hexadecimal, a file cut off).
struct SyntaxFault {
  Stretch where;
  std::string text;
};

/// `offset`: the last byte the JSON reader looked at before it gave up. `reason`: what it said.
SyntaxFault explain_syntax(std::string_view text, std::size_t offset, std::string_view reason);

}  // namespace cupool::policy
