// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupool::policy {

/// The candidate that `word` was most likely meant to be: few letters changed, left out, doubled or swapped, case apart. Nothing
/// when none is near. Cost: bounded by the candidates' lengths; words longer than 64 bytes are near to nothing.
std::optional<std::string_view> nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// `; did you mean "NEAREST"?`, or `; LISTING a, b, c` when none is near (at most twelve are listed).
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates, std::string_view listing);

}  // namespace cupool::policy
