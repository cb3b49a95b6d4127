// SPDX-License-Identifier: Apache-2.0
#include "policy/pattern.h"

#include <cstddef>

namespace cupool::policy {
namespace {

/// The first byte behind the character at `at`; bytes that are not UTF-8 count one by one.
std::size_t behind_character(std::string_view text, std::size_t at) {
  const bool is_lead = (static_cast<unsigned char>(text[at]) & 0xC0U) == 0xC0U;
  ++at;
  while (is_lead && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

}  // namespace

bool fits(std::string_view pattern, std::string_view text) {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t behind_star = kNoStar;
  std::size_t star_took_to = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      behind_star = ++p;
      star_took_to = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t = behind_character(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (behind_star != kNoStar) {
      // Only the last star need take more: what stands before it has already fitted as early as it can.
      p = behind_star;
      t = star_took_to = behind_character(text, star_took_to);
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cupool::policy
