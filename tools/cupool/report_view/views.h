// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/cupool/report_view/reading.h"

namespace cupool::tool {

/// A report as a table for the terminal: who used how much, what was refused and by which rule, how long allocation calls took.
std::string to_table(const Json& report);

/// One self-contained page with pictures: no network, no script needed to see the figures.
std::string to_html(const Json& report);

/// The snapshot format that pytorch.org/memory_viz opens: one segment per device, its live blocks and the recorded events.
std::string to_memory_viz(const Json& report);

/// The Chrome trace format that ui.perfetto.dev opens: counters of memory per process and device, refusals as instants.
std::string to_chrome_trace(const Json& report);

}  // namespace cupool::tool
