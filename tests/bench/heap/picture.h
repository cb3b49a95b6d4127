// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/bench/heap/contestant.h"
#include "tests/bench/heap/ops.h"

namespace cupool::bench {

/// Writes an SVG of address space over time: each block a bar from its allocation to its free, at its place, coloured by its size.
/// Blocks too small to be seen are left out. False when the file cannot be written.
bool draw(const Ops& ops, const ContestantKind& kind, const std::string& file);

}  // namespace cupool::bench
