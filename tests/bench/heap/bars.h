// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace cupool::bench {

/// What the project promises of its heaps, beside the worst that a report of heap_bench shows: objects with `bar`, `limit`,
/// `worst`, `where` and `met`. Only of what the report holds: without best_fit in it nothing can be said about best fit.
nlohmann::json bars_of(const nlohmann::json& report);

}  // namespace cupool::bench
