// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cupool::policy {

/// Whether the whole text fits the pattern: `*` is any run of characters (also none, also "/"), `?` one character, anything else
/// itself. Constant stack; costs at most the product of both lengths, about their sum where the pattern has one star.
bool fits(std::string_view pattern, std::string_view text);

}  // namespace cupool::policy
