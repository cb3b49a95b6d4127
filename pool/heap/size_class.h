// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "pool/heap/run.h"

namespace cupool::pool {

/// Eight steps for each power of two: the slot of a block of n granules is less than 12.5 % longer than n, and exact up to 16.
using SizeClass = std::uint32_t;

/// Classes of lengths below 4096 granules: 16 exact ones and 8 for each of the 8 powers of two from 16 on.
inline constexpr SizeClass kSizeClasses = 16 + 8 * 8;

/// The class of a length from 1 to 4096 granules: the smallest whose slot holds it.
constexpr SizeClass size_class_of(Granules length) {
  const std::uint64_t last = length.count - 1;
  if (last < 16) return static_cast<SizeClass>(last);
  const unsigned top = static_cast<unsigned>(std::bit_width(last)) - 1;
  return 16 + (top - 4) * 8 + (static_cast<SizeClass>(last >> (top - 3)) & 7);
}

constexpr Granules slot_length(SizeClass size_class) {
  if (size_class < 16) return Granules{size_class + 1};
  const unsigned row = (size_class - 16) / 8;
  return Granules{std::uint64_t{9 + (size_class - 16) % 8} << (row + 1)};
}

}  // namespace cupool::pool
