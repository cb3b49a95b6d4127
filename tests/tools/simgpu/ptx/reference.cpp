// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {

std::uint32_t bits_of(const std::string& type) {
  if (type == "pred") return 1;
  if (type.ends_with("x2")) return type.starts_with("f32") ? 64 : 32;
  if (type == "bf16") return 16;
  return static_cast<std::uint32_t>(std::stoul(type.substr(1)));
}

bool is_float(const std::string& type) {
  return type[0] == 'f' || type.starts_with("bf");
}

float f32(std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

double f64(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint64_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

std::uint64_t bits(double value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

std::int64_t sign_extend(std::uint64_t value, std::uint32_t width) {
  return width == 64 ? static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value << (64 - width)) >> (64 - width);
}

std::uint64_t low(std::uint64_t value, std::uint32_t width) {
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

double half_value(std::uint64_t given, bool bfloat) {
  const int fraction_bits = bfloat ? 7 : 10;
  const int bias = bfloat ? 127 : 15;
  const int highest = bfloat ? 255 : 31;
  const double sign = (given & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(given & 0x7fff) >> fraction_bits;
  const int fraction = static_cast<int>(given) & ((1 << fraction_bits) - 1);
  if (exponent == highest) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

std::uint64_t nearest_half(__float128 value, bool bfloat) {
  if (value != value) return 0x7fff;
  const std::uint64_t infinity = bfloat ? 0x7f80 : 0x7c00;
  const bool negative = value < 0;
  const __float128 magnitude = negative ? -value : value;
  // Positive codes are in the order of their values; the code after the last number stands for the next power of two.
  const auto at = [&](std::uint64_t code) {
    return code == infinity ? static_cast<__float128>(std::ldexp(1.0, bfloat ? 128 : 16))
                            : static_cast<__float128>(half_value(code, bfloat));
  };
  std::uint64_t first = 0;
  std::uint64_t last = infinity;
  if (magnitude >= at(infinity)) return infinity | (negative ? 0x8000 : 0);
  while (last - first > 1) {
    const std::uint64_t middle = (first + last) / 2;
    (at(middle) <= magnitude ? first : last) = middle;
  }
  const __float128 below = magnitude - at(first);
  const __float128 above = at(last) - magnitude;
  const std::uint64_t code = below < above ? first : below > above ? last : (first & 1) == 0 ? first : last;
  return code | (negative ? 0x8000 : 0);
}

std::vector<std::uint64_t> edge_values(const std::string& type) {
  if (type == "pred") return {0, 1};
  if (type == "f32") {
    return {0,          0x80000000, 0x3f800000, 0xbf800000, 1,          0x80000001, 0x007fffff, 0x00800000,
            0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f000000, 0xbf000000, 0x3fc00000,
            0x40200000, 0x4f000000, 0xcf000000, 0x5f000000, 0x4effffff, 0x3eaaaaab, 0x42280000};
  }
  if (type == "f64") {
    return {0,
            1ULL << 63,
            0x3ff0000000000000,
            0xbff0000000000000,
            1,
            0x000fffffffffffff,
            0x0010000000000000,
            0x7fefffffffffffff,
            0xffefffffffffffff,
            0x7ff0000000000000,
            0xfff0000000000000,
            0x7ff8000000000000,
            0x3fe0000000000000,
            0x4004000000000000,
            0x41dfffffffc00000,
            0x43e0000000000000,
            0xc3e0000000000000,
            0x3fd5555555555555,
            0x3810000000000000,
            0x47efffffe0000000};
  }
  if (type == "f16")
    return {0,      0x8000, 0x3c00, 0xbc00, 1,      0x8001, 0x3ff,  0x400, 0x7bff,
            0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3800, 0x4100, 0x3555, 0x5640};
  if (type == "bf16")
    return {0,      0x8000, 0x3f80, 0xbf80, 1,      0x8001, 0x7f,   0x80,  0x7f7f,
            0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x3f00, 0x4020, 0x3eab, 0x42c8};
  if (type == "f16x2") return {0, 0x3c003c00, 0x80007c00, 0x7e000001, 0x03ff0400, 0x7bfffbff, 0xbc004100, 0x35555640};
  if (type == "bf16x2") return {0, 0x3f803f80, 0x80007f80, 0x7fc00001, 0x007f0080, 0x7f7fff7f, 0xbf804020, 0x3eab42c8};
  if (type == "f32x2") return {0, 0x3f80000040000000, 0x7f8000003f800000, 0x0000000180000001, 0x7fc000004f000000};
  const std::uint32_t width = bits_of(type);
  const std::uint64_t all = low(~std::uint64_t{0}, width);
  std::vector<std::uint64_t> values{0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    31,
                                    32,
                                    33,
                                    all,
                                    all - 1,
                                    all >> 1,
                                    (all >> 1) + 1,
                                    low(0x5555555555555555, width),
                                    low(0x123456789abcdef0, width),
                                    0x10,
                                    0x40,
                                    0x80};
  for (std::uint64_t& value : values) value = low(value, width);
  return values;
}

}  // namespace ptx_test
