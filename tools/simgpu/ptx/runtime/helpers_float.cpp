// SPDX-License-Identifier: Apache-2.0
// Floating-point helpers of generated code: other roundings than to nearest, fused operations, approximate functions, half
// precision.
#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tools/simgpu/ptx/runtime/helpers.h"

namespace cupool::simgpu::ptx {
namespace {

/// Sets the host's rounding for as long as it lives. Values cross by volatile objects, which no compiler moves over the change.
class HostRounding {
 public:
  explicit HostRounding(std::uint32_t mode) : before_(_mm_getcsr()) {
    const std::uint32_t bits = mode == SG_RZ ? 0x6000U : mode == SG_RM ? 0x2000U : mode == SG_RP ? 0x4000U : 0U;
    set((before_ & ~0x6000U) | bits);
  }
  ~HostRounding() { set(before_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  static void set(std::uint32_t value) { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }
  std::uint32_t before_;
};

template <class T>
T operate(std::uint32_t op, T a, T b, T c) {
  switch (op) {
    case SG_ADD:
      return a + b;
    case SG_SUB:
      return a - b;
    case SG_MUL:
      return a * b;
    case SG_DIV:
      return a / b;
    case SG_FMA:
      return std::fma(a, b, c);
    case SG_SQRT:
      return std::sqrt(a);
    case SG_RCP:
      return T{1} / a;
    case SG_RSQRT:
      return T{1} / std::sqrt(a);
    default:
      return T{0};
  }
}

template <class T>
T rounded(std::uint32_t op, std::uint32_t rounding, T a, T b, T c) {
  volatile T x = a;
  volatile T y = b;
  volatile T z = c;
  volatile T result = 0;
  {
    const HostRounding mode(rounding);
    result = operate<T>(op, x, y, z);
  }
  return result;
}

/// Sum of two doubles rounded to odd: rounding it again to at most 51 bits gives what one rounding would have given.
double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (lost == 0.0 || (bits & 1) != 0) return sum;
  const bool away = (lost > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

/// A double to half precision with one rounding: by way of the general conversion.
std::uint32_t narrow(double value, std::uint32_t is_bfloat) {
  return static_cast<std::uint32_t>(
      abi::helper::convert(std::bit_cast<std::uint64_t>(value), SG_T_F64, is_bfloat != 0 ? SG_T_BF16 : SG_T_F16, SG_RN, 0));
}

double approximate(std::uint32_t op, double x) {
  switch (op) {
    case SG_RSQRT:
      return 1.0 / std::sqrt(x);
    case SG_EX2:
      return std::exp2(x);
    case SG_LG2:
      return std::log2(x);
    case SG_SIN:
      return std::sin(x);
    case SG_COS:
      return std::cos(x);
    default:
      return std::tanh(x);
  }
}

float pick(std::uint32_t op, float a, float b, bool nan_wins) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (nan_wins && (a_nan || b_nan)) return std::bit_cast<float>(0x7fffffffU);
  if (a_nan) return b;
  if (b_nan) return a;
  if (a == b) return std::signbit(a) == (op == SG_MIN) ? a : b;
  return (a < b) == (op == SG_MIN) ? a : b;
}

std::uint32_t flush_half(std::uint32_t bits, std::uint32_t is_bfloat) {
  const std::uint32_t exponent = is_bfloat != 0 ? 0x7f80U : 0x7c00U;
  return (bits & exponent) == 0 ? bits & 0x8000U : bits;
}

std::uint32_t half_result(std::uint32_t op, std::uint32_t is_bfloat, std::uint32_t flags, std::uint32_t a, std::uint32_t b,
                          std::uint32_t c) {
  using abi::helper::float_to_half;
  using abi::helper::half_to_float;
  const float x = half_to_float(a, is_bfloat);
  const float y = half_to_float(b, is_bfloat);
  switch (op) {
    // Twice the bits and two more: rounding to f32 first and then to half gives the same as one rounding.
    case SG_ADD:
      return float_to_half(x + y, is_bfloat);
    case SG_SUB:
      return float_to_half(x - y, is_bfloat);
    case SG_MUL:
      return float_to_half(x * y, is_bfloat);
    case SG_FMA: {
      const double product = static_cast<double>(x) * static_cast<double>(y);
      return narrow(add_to_odd(product, static_cast<double>(half_to_float(c, is_bfloat))), is_bfloat);
    }
    case SG_MIN:
    case SG_MAX: {
      if ((flags & SG_H_XORSIGN) != 0) {
        const std::uint32_t sign = (a ^ b) & 0x8000U;
        const float magnitude = pick(op, std::fabs(x), std::fabs(y), (flags & SG_H_NAN) != 0);
        return magnitude != magnitude ? 0x7fffU : float_to_half(magnitude, is_bfloat) | sign;
      }
      return float_to_half(pick(op, x, y, (flags & SG_H_NAN) != 0), is_bfloat);
    }
    case SG_NEG:
      return a ^ 0x8000U;
    case SG_ABS:
      return a & 0x7fffU;
    default:
      return narrow(approximate(op, static_cast<double>(x)), is_bfloat);
  }
}

}  // namespace

namespace abi::helper {

float fma32(float a, float b, float c) {
  return std::fma(a, b, c);
}
double fma64(double a, double b, double c) {
  return std::fma(a, b, c);
}
float sqrt32(float a) {
  return std::sqrt(a);
}
double sqrt64(double a) {
  return std::sqrt(a);
}

float op32(u32 op, u32 rounding, float a, float b, float c) {
  return rounding == SG_RN ? operate<float>(op, a, b, c) : rounded<float>(op, rounding, a, b, c);
}

double op64(u32 op, u32 rounding, double a, double b, double c) {
  return rounding == SG_RN ? operate<double>(op, a, b, c) : rounded<double>(op, rounding, a, b, c);
}

float approx32(u32 op, float a) {
  return static_cast<float>(approximate(op, static_cast<double>(a)));
}

u32 half_op(u32 op, u32 is_bfloat, u32 flags, u32 a, u32 b, u32 c) {
  if ((flags & SG_H_FTZ) != 0) {
    a = flush_half(a, is_bfloat);
    b = flush_half(b, is_bfloat);
    c = flush_half(c, is_bfloat);
  }
  u32 result = half_result(op, is_bfloat, flags, a, b, c);
  const float value = half_to_float(result, is_bfloat);
  if ((flags & SG_H_FTZ) != 0) result = flush_half(result, is_bfloat);
  if ((flags & SG_H_SAT) != 0) {
    if (!(value > 0.0F)) return 0;
    if (value > 1.0F) return is_bfloat != 0 ? 0x3f80U : 0x3c00U;
  }
  if ((flags & SG_H_RELU) != 0 && value < 0.0F) return 0;
  if ((flags & SG_H_RELU) != 0 && result == 0x8000U) return 0;
  return result;
}

}  // namespace abi::helper
}  // namespace cupool::simgpu::ptx
