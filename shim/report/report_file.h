// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/base/result.h"

namespace cupool::report {

/// Writes a complete new file, or none: parents are made, a temporary file gets its name without replacing anything.
///
/// When `path` is taken, by whomever, `pid` goes before the ending ("train.json" -> "train.123.json"), then a number as well.
/// Returns the path that was written. Errc::io with what failed. What a report's name may hold is policy/report_path.h.
Result<std::string> write_new_file(const std::string& path, std::string_view content, std::uint32_t pid);

}  // namespace cupool::report
