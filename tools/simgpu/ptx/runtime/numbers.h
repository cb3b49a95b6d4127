// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cupool::simgpu::ptx {

/// A binary floating-point format: how many exponent and fraction bits, and what its largest codes mean.
struct FloatFormat {
  std::uint32_t exponent_bits;
  std::uint32_t fraction_bits;
  bool has_infinity;  ///< e4m3 has none: its highest code is NaN, all others are numbers
  std::uint64_t nan;  ///< the canonical NaN
};

/// Any finite number of any format, exactly: (-1)^negative x mantissa x 2^exponent; or an infinity, or NaN.
struct Number {
  enum class Kind : std::uint8_t { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  std::uint64_t mantissa = 0;
  std::int32_t exponent = 0;
};

Number decode(std::uint64_t bits, const FloatFormat& format);
Number from_integer(std::uint64_t magnitude, bool negative);

/// Rounds as SG_RN, SG_RZ, SG_RM, SG_RP or SG_RNA says; too large becomes infinity, the largest finite number or NaN (a format
/// without infinity) as the mode and `saturate_finite` ask.
std::uint64_t encode(const Number& number, const FloatFormat& format, std::uint32_t rounding, bool saturate_finite);

/// The nearest whole number in the given direction; keeps infinities, NaN and the sign of zero.
Number to_whole(const Number& number, std::uint32_t rounding);

/// Format of SG_T_F16 ... SG_T_E5M2; TF32 is described as the 19 bits that count.
const FloatFormat& float_format(std::uint32_t type);

}  // namespace cupool::simgpu::ptx
