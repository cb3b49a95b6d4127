// SPDX-License-Identifier: Apache-2.0
// The general conversion between number formats, and the quick ones of half precision.
#include <bit>

#include "tools/simgpu/ptx/runtime/helpers.h"
#include "tools/simgpu/ptx/runtime/numbers.h"

namespace cupool::simgpu::ptx {
namespace {

bool is_integer(std::uint32_t type) {
  return type <= SG_T_S64;
}
bool is_signed(std::uint32_t type) {
  return (type & 1) != 0;
}
std::uint32_t integer_bits(std::uint32_t type) {
  return 8U << (type >> 1);
}

std::uint64_t flush_bits(std::uint64_t bits, std::uint32_t type) {
  return type == SG_T_F32 && (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits;
}

Number read(std::uint64_t bits, std::uint32_t type) {
  if (!is_integer(type)) return decode(type == SG_T_TF32 ? bits >> 13 : bits, float_format(type));
  const std::uint32_t width = integer_bits(type);
  if (is_signed(type)) {
    const auto value = static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
    return from_integer(value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value),
                        value < 0);
  }
  return from_integer(width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1), false);
}

/// What cvt gives for NaN: zero, unless either side has 64 bits (PTX ISA, cvt, "Integer Notes").
std::uint64_t nan_as_integer(std::uint32_t from, std::uint32_t to) {
  const bool zero = from != SG_T_F64 && to != SG_T_S64 && to != SG_T_U64;
  return zero ? 0 : std::uint64_t{1} << (integer_bits(to) - 1);
}

/// Out of range becomes the nearest value of the type.
std::uint64_t write_integer(const Number& number, std::uint32_t to) {
  const std::uint32_t width = integer_bits(to);
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const std::uint64_t most = is_signed(to) ? all >> 1 : all;
  const std::uint64_t least_magnitude = is_signed(to) ? most + 1 : 0;
  std::uint64_t magnitude = ~std::uint64_t{0};
  const bool fits = number.kind == Number::Kind::finite &&
                    (number.mantissa == 0 || (number.exponent <= 0 || number.exponent <= std::countl_zero(number.mantissa)));
  if (fits) magnitude = number.mantissa == 0 ? 0 : number.mantissa << number.exponent;
  if (!number.negative) return magnitude > most ? most : magnitude;
  const std::uint64_t used = magnitude > least_magnitude ? least_magnitude : magnitude;
  return (std::uint64_t{0} - used) & all;
}

/// Clamps to [0, 1]; NaN becomes zero.
Number clamp_to_unit(const Number& number) {
  if (number.kind == Number::Kind::nan || number.negative) return from_integer(0, false);
  if (number.kind == Number::Kind::infinite) return from_integer(1, false);
  if (number.mantissa == 0) return number;
  const std::int32_t top = number.exponent + 63 - std::countl_zero(number.mantissa);
  return top >= 0 ? from_integer(1, false) : number;
}

}  // namespace

namespace abi::helper {

u64 convert(u64 bits, u32 from, u32 to, u32 rounding, u32 flags) {
  if ((flags & SG_CVT_FTZ) != 0) bits = flush_bits(bits, from);
  Number number = read(bits, from);
  if (is_integer(to)) {
    if (number.kind == Number::Kind::nan) return nan_as_integer(from, to);
    number = to_whole(number, rounding);
    const u64 exact = write_integer(number, to);
    if (!is_integer(from) || (flags & SG_CVT_SAT) != 0) return exact;
    const u32 width = integer_bits(to);
    return width == 64 ? bits : bits & ((u64{1} << width) - 1);
  }
  if ((flags & SG_CVT_INTEGRAL) != 0) {
    number = to_whole(number, rounding);
    rounding = SG_RN;
  }
  if ((flags & SG_CVT_SAT) != 0) number = clamp_to_unit(number);
  if ((flags & SG_CVT_RELU) != 0 && number.negative && number.kind != Number::Kind::nan) number = from_integer(0, false);
  // Without a rounding the conversion is exact, so any mode will do.
  const u32 mode = rounding == SG_RX ? SG_RN : rounding;
  u64 result = encode(number, float_format(to), mode, (flags & SG_CVT_SATFINITE) != 0);
  if (to == SG_T_TF32) result = number.kind == Number::Kind::nan ? 0x7fffffffU : result << 13;
  return (flags & SG_CVT_FTZ) != 0 ? flush_bits(result, to) : result;
}

float half_to_float(u32 a, u32 is_bfloat) {
  if (is_bfloat != 0) return std::bit_cast<float>(a << 16);
  const u32 sign = (a & 0x8000U) << 16;
  const u32 magnitude = a & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  return std::bit_cast<float>(sign | std::bit_cast<u32>(static_cast<float>(magnitude) * 0x1p-24F));
}

u32 float_to_half(float a, u32 is_bfloat) {
  const u32 bits = std::bit_cast<u32>(a);
  const u32 sign = bits >> 16 & 0x8000U;
  const u32 magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return 0x7fffU;
  if (is_bfloat != 0) return sign | (magnitude + 0x7fffU + (magnitude >> 16 & 1)) >> 16;
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;
  // Below the least normal half: adding 0.5 leaves the host's own rounding in the last ten bits.
  if (magnitude < 0x38800000U) return sign | (std::bit_cast<u32>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U);
  return sign | (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1)) >> 13;
}

}  // namespace abi::helper
}  // namespace cupool::simgpu::ptx
