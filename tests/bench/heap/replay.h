// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/bench/heap/contestant.h"
#include "tests/bench/heap/ops.h"

namespace cupool::bench {

/// What playing a trace showed. Times are of one operation, in nanoseconds, the cost of the clock and of the loop taken off.
struct ReplayFigures {
  double utilisation = 0;          ///< largest live sum / range in use at the end of all passes
  double utilisation_average = 0;  ///< live / range in use so far, averaged over the events of the last pass
  double ns_per_op = 0;            ///< of the fastest pass, without a clock inside
  double p50_ns = 0;
  double p99_ns = 0;
  double p999_ns = 0;
  double metadata_bytes_per_block = 0;  ///< at the largest number of live blocks; 0 where the contestant does not tell
  double metadata_over_bar = 0;         ///< the same over what is allowed: 64 bytes a block and 0.1 % of the units in use
};

/// Plays the trace `passes` times (at least once) without a clock and again with one.
ReplayFigures replay(const Ops& ops, const ContestantKind& kind, unsigned passes);

/// One allocation and its free, of a random size, while there are `holes` holes of random lengths from 1 to 64 granules, none next
/// to another.
struct HoleFigures {
  std::uint64_t holes = 0;
  double ns_per_pair = 0;
  double p99_ns = 0;
  double metadata_bytes_per_block = 0;
};
HoleFigures pair_among_holes(const ContestantKind& kind, std::uint64_t holes);

}  // namespace cupool::bench
