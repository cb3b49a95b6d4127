// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/heap/ops.h"

namespace cupool::bench {

/// What the arena makes of a trace with handles of one size, over a backing that only counts.
struct ArenaFigures {
  std::uint64_t handle_mib = 0;
  double capacity_over_live = 0;       ///< smallest capacity at which two passes fit, over the largest live sum
  double capacity_without_moving = 0;  ///< the same where free handles stay where they are
  std::uint64_t handles_moved = 0;     ///< at that capacity, in two passes
  double held_over_live = 0;           ///< handles that are not free over live bytes, at the samples at or below median use
  std::uint64_t driver_calls = 0;      ///< with units of 128 MiB and room enough, in three passes
  std::uint64_t driver_calls_of_last_pass = 0;  ///< of them, those of the third: a steady loop
  double virtual_driver_ms = 0;                 ///< what the calls would cost
  double range_over_live = 0;                   ///< address range used over the largest live sum
  std::uint64_t leased_beyond_range = 0;        ///< bytes leased in units of 128 MiB, less the range in use
};

/// For handles of 2, 8, 32 and 128 MiB.
std::vector<ArenaFigures> arena_figures(const Ops& ops);

}  // namespace cupool::bench
