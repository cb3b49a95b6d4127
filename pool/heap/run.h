// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace cupool::pool {

/// A number of granules: an amount, or a position counted from the start of an index space. How many bytes a granule has is the
/// business of whoever owns the index space (`pool.alignment`, 512 bytes by default).
struct Granules {
  std::uint64_t count = 0;

  constexpr auto operator<=>(const Granules&) const = default;
  constexpr Granules& operator+=(Granules other) {
    count += other.count;
    return *this;
  }
  constexpr Granules& operator-=(Granules other) {
    count -= other.count;
    return *this;
  }
  friend constexpr Granules operator+(Granules a, Granules b) { return Granules{a.count + b.count}; }
  friend constexpr Granules operator-(Granules a, Granules b) { return Granules{a.count - b.count}; }
};

/// Consecutive granules: [start, start + length).
struct Run {
  Granules start;
  Granules length;

  constexpr Granules end() const { return start + length; }
  constexpr bool operator==(const Run&) const = default;
};

/// What take() handed out. Keep it whole and hand it back unchanged.
struct Taken {
  /// What the caller may use: at least as long as asked for (slabs round up to their size class).
  Run run;
  /// The engine's own note of where it keeps this run, so that giving it back needs no search. Means nothing to anybody else.
  std::uint32_t mark = 0;
};

/// What a stretch of the index space is.
enum class State : std::uint8_t {
  absent,  ///< not part of the heap: never grown, or shrunk away
  free,    ///< can be taken
  taken,   ///< handed out, or kept by a slab
};

struct Segment {
  Run run;
  State state = State::absent;
};

}  // namespace cupool::pool
