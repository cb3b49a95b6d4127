// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "policy/document.h"
#include "policy/problem.h"

namespace cupool::policy {

/// Bounds on a document: beyond them it is refused, so that no input costs more than reading a megabyte.
inline constexpr std::size_t kMostText = std::size_t{1} << 20;
inline constexpr std::size_t kMostDepth = 32;
inline constexpr std::size_t kMostValues = 10'000;
inline constexpr std::size_t kMostString = 4096;

/// Reads JSON (RFC 8259; `//` and `/* */` comments are accepted) in time linear in the text and in constant stack.
///
/// Refused with one problem: what is not JSON, a byte order mark, invalid UTF-8, NUL, and whatever exceeds the bounds above.
/// Refused with a problem each: a name that occurs twice in one object, and strings with characters that a terminal would act on.
/// Nothing is returned when there was an error of the first kind.
std::optional<Document> parse(std::string_view text, Problems& problems);

}  // namespace cupool::policy
