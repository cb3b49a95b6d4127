// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ptx_test {

/// One form of one instruction: `text` with %0 for the result and %1, %2, %3 for the operands, their PTX types, and what it must
/// give.
///
/// Values are bit patterns in the low bits of 64. The reference gets the operands' bits and returns the result's.
struct Form {
  std::string text;
  std::string result;
  std::vector<std::string> sources;
  std::function<std::uint64_t(const std::uint64_t*)> reference;
  /// For functions that hardware approximates: largest distance in units of the last place of an f32 (or f16) result.
  std::uint32_t tolerance = 0;
};

using Forms = std::vector<Form>;

void add_integer_forms(Forms& forms);
void add_bit_forms(Forms& forms);
void add_float_forms(Forms& forms);
void add_half_forms(Forms& forms);
void add_compare_forms(Forms& forms);
void add_convert_forms(Forms& forms);

std::uint32_t bits_of(const std::string& type);
bool is_float(const std::string& type);

/// Edge values of a type: zeros, ones, extremes, denormals, infinities, NaN.
std::vector<std::uint64_t> edge_values(const std::string& type);

// The reference's own arithmetic.
float f32(std::uint64_t bits);
double f64(std::uint64_t bits);
std::uint64_t bits(float value);
std::uint64_t bits(double value);
/// f16 or bf16 to double, and back to the nearest (ties to even) by searching all 65536 of them.
double half_value(std::uint64_t bits, bool bfloat);
std::uint64_t nearest_half(__float128 value, bool bfloat);
std::int64_t sign_extend(std::uint64_t value, std::uint32_t width);
std::uint64_t low(std::uint64_t value, std::uint32_t width);

}  // namespace ptx_test
