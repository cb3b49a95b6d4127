// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pool/heap/run.h"

namespace cupool::pool {

/// Rounds a position up to a multiple of a power of two. Does not overflow: positions stay below kMaxCapacity, alignments too.
constexpr Granules align_up(Granules position, Granules alignment) {
  return Granules{(position.count + alignment.count - 1) & ~(alignment.count - 1)};
}
constexpr Granules align_down(Granules position, Granules alignment) {
  return Granules{position.count & ~(alignment.count - 1)};
}

/// Whether `length` granules at a multiple of `alignment` lie inside a run.
constexpr bool fits(Run run, Granules length, Granules alignment) {
  return align_up(run.start, alignment) + length <= run.end();
}

/// How many whole, aligned handles lie inside a run.
constexpr std::uint64_t handles_inside(Run run, Granules handle) {
  const std::uint64_t first = align_up(run.start, handle).count;
  const std::uint64_t end = align_down(run.end(), handle).count;
  return end > first ? (end - first) / handle.count : 0;
}

}  // namespace cupool::pool
