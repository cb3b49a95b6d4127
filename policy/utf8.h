// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cupool::policy {

/// One code point at the front of a text.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  ///< in bytes; 0 when the bytes are not valid UTF-8 (overlong, surrogate, cut off) or the text is empty
};

CodePoint first_code_point(std::string_view text);

/// Whether a terminal or a reader could be misled by it: control characters, line separators, bidirectional marks, invisible ones.
bool is_unprintable(std::uint32_t code_point);

/// The offset of the first byte that is not valid UTF-8; npos when all is.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace cupool::policy
