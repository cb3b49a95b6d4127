// SPDX-License-Identifier: Apache-2.0
#include "policy/suggest.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "policy/problem.h"

namespace cupool::policy {
namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kMostListed = 12;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = kLongest;
  if (word.size() > kLongest) return best;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    // A beginning of three letters or more ("warn") is as near as one wrong letter.
    const std::size_t found = word.size() >= 3 && candidate.starts_with(word)
                                  ? std::min<std::size_t>(1, candidate.size() - word.size())
                                  : distance(word, candidate);
    const std::size_t tolerated = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (found <= tolerated && found < best_distance && found < candidate.size()) {
      best = candidate;
      best_distance = found;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates, std::string_view listing) {
  if (const auto near = nearest(word, candidates)) return "; did you mean \"" + printable(*near) + "\"?";
  std::string out = "; " + std::string(listing) + ' ';
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == kMostListed) return out + ", ...";
    out += (i == 0 ? "" : ", ") + printable(candidates[i]);
  }
  return out;
}

}  // namespace cupool::policy
