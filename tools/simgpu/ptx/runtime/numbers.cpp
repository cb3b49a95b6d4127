// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/numbers.h"

#include <bit>

#include "tools/simgpu/ptx/runtime/abi_types.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr FloatFormat kF16{5, 10, true, 0x7fff};
constexpr FloatFormat kBf16{8, 7, true, 0x7fff};
constexpr FloatFormat kTf32{8, 10, true, 0x3ffff};
constexpr FloatFormat kF32{8, 23, true, 0x7fffffff};
constexpr FloatFormat kF64{11, 52, true, 0x7ff8000000000000ULL};
constexpr FloatFormat kE4m3{4, 3, false, 0x7f};
constexpr FloatFormat kE5m2{5, 2, true, 0x7f};

std::int32_t bias(const FloatFormat& format) {
  return (1 << (format.exponent_bits - 1)) - 1;
}

/// value >> shift, rounded; `shift` may be any number.
std::uint64_t shift_rounded(std::uint64_t value, std::int32_t shift, std::uint32_t rounding, bool negative) {
  if (shift <= 0) return value << -shift;
  const std::uint64_t kept = shift >= 64 ? 0 : value >> shift;
  const std::uint64_t lost = shift >= 64 ? value : value & ((std::uint64_t{1} << shift) - 1);
  if (lost == 0) return kept;
  // Beyond 64 places the lost part is less than half of the last place kept.
  const std::uint64_t half = shift > 64 ? 0 : std::uint64_t{1} << (shift - 1);
  const bool above = half != 0 && lost > half;
  const bool tie = half != 0 && lost == half;
  bool up = false;
  switch (rounding) {
    case SG_RN:
      up = above || (tie && (kept & 1) != 0);
      break;
    case SG_RNA:
      up = above || tie;
      break;
    case SG_RM:
      up = negative;
      break;
    case SG_RP:
      up = !negative;
      break;
    default:
      break;
  }
  return kept + (up ? 1 : 0);
}

}  // namespace

const FloatFormat& float_format(std::uint32_t type) {
  switch (type) {
    case SG_T_F16:
      return kF16;
    case SG_T_BF16:
      return kBf16;
    case SG_T_TF32:
      return kTf32;
    case SG_T_F32:
      return kF32;
    case SG_T_E4M3:
      return kE4m3;
    case SG_T_E5M2:
      return kE5m2;
    default:
      return kF64;
  }
}

Number decode(std::uint64_t bits, const FloatFormat& format) {
  Number number;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const auto exponent = static_cast<std::int32_t>(bits >> format.fraction_bits & ((std::uint64_t{1} << format.exponent_bits) - 1));
  const std::int32_t highest = (1 << format.exponent_bits) - 1;
  number.negative = (bits >> (format.fraction_bits + format.exponent_bits) & 1) != 0;
  if (exponent == highest && format.has_infinity) {
    number.kind = fraction == 0 ? Number::Kind::infinite : Number::Kind::nan;
    return number;
  }
  if (!format.has_infinity && exponent == highest && fraction == (std::uint64_t{1} << format.fraction_bits) - 1) {
    number.kind = Number::Kind::nan;
    return number;
  }
  number.mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << format.fraction_bits;
  number.exponent = (exponent == 0 ? 1 : exponent) - bias(format) - static_cast<std::int32_t>(format.fraction_bits);
  return number;
}

Number from_integer(std::uint64_t magnitude, bool negative) {
  return Number{.kind = Number::Kind::finite, .negative = negative && magnitude != 0, .mantissa = magnitude, .exponent = 0};
}

std::uint64_t encode(const Number& number, const FloatFormat& format, std::uint32_t rounding, bool saturate_finite) {
  const std::uint64_t sign = number.negative ? std::uint64_t{1} << (format.exponent_bits + format.fraction_bits) : 0;
  const std::uint64_t all_exponent = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
  const std::uint64_t largest =
      format.has_infinity ? all_exponent - 1 : (all_exponent | ((std::uint64_t{1} << format.fraction_bits) - 1)) - 1;
  if (number.kind == Number::Kind::nan) return format.nan;
  if (number.kind == Number::Kind::infinite) {
    if (saturate_finite) return sign | largest;
    return format.has_infinity ? sign | all_exponent : format.nan;
  }
  if (number.mantissa == 0) return sign;
  const std::int32_t top = number.exponent + 63 - std::countl_zero(number.mantissa);
  const std::int32_t least = 1 - bias(format);
  const std::int32_t base = top < least ? least : top;
  const std::int32_t last_place = base - static_cast<std::int32_t>(format.fraction_bits);
  const std::uint64_t kept = shift_rounded(number.mantissa, last_place - number.exponent, rounding, number.negative);
  // The hidden bit adds one to the exponent field, and so does a carry out of the fraction.
  const std::int64_t field = top < least ? 0 : static_cast<std::int64_t>(base) + bias(format) - 1;
  const std::uint64_t bits = (static_cast<std::uint64_t>(field) << format.fraction_bits) + kept;
  if (bits <= largest) return sign | bits;
  if (saturate_finite) return sign | largest;
  const bool stays_finite = rounding == SG_RZ || (rounding == SG_RM && !number.negative) || (rounding == SG_RP && number.negative);
  if (stays_finite) return sign | largest;
  return format.has_infinity ? sign | all_exponent : format.nan;
}

Number to_whole(const Number& number, std::uint32_t rounding) {
  if (number.kind != Number::Kind::finite || number.exponent >= 0) return number;
  Number whole = number;
  whole.mantissa = shift_rounded(number.mantissa, -number.exponent, rounding, number.negative);
  whole.exponent = 0;
  return whole;
}

}  // namespace cupool::simgpu::ptx
