// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/matrix.h"

#include <algorithm>
#include <bit>

#include "tools/simgpu/ptx/runtime/helpers.h"

namespace cupool::simgpu::ptx {
namespace {

using abi::sg_thread;

constexpr std::uint32_t kMaxK = 64;

/// The shape in the number that the translator put together.
struct Shape {
  std::uint32_t element;
  std::uint32_t m;
  std::uint32_t k;
  std::uint32_t flags;

  explicit Shape(std::uint32_t op) : element(op >> 8 & 0xf), m((op >> 12 & 3) * 8), k(op >> 16 & 0xff), flags(op >> 24) {}
  /// Elements in one register of a or b.
  std::uint32_t packed() const { return element == SG_M_S8 ? 4 : element == SG_M_S4 ? 8 : element <= SG_M_BF16 ? 2 : 1; }
  std::uint32_t words() const { return element == SG_M_F64 ? 2 : 1; }
  std::uint32_t a_registers() const { return m * k / 32 / packed(); }
  std::uint32_t b_registers() const { return 8 * k / 32 / packed(); }
  bool is_integer() const { return element >= SG_M_S8; }
  bool half_accumulate() const { return (flags & SG_MF_HALF_ACCUMULATE) != 0; }
};

double element_value(const Shape& shape, const std::uint32_t* words, std::uint32_t i) {
  switch (shape.element) {
    case SG_M_F16:
    case SG_M_BF16:
      return static_cast<double>(abi::helper::half_to_float(words[0] >> (16 * i) & 0xffff, shape.element == SG_M_BF16 ? 1 : 0));
    case SG_M_TF32:
      return static_cast<double>(std::bit_cast<float>(words[0] & 0xffffe000U));
    default:
      return std::bit_cast<double>(static_cast<std::uint64_t>(words[1]) << 32 | words[0]);
  }
}

std::int32_t integer_value(const Shape& shape, std::uint32_t word, std::uint32_t i, bool is_unsigned) {
  const std::uint32_t bits = shape.element == SG_M_S8 ? 8 : 4;
  const std::uint32_t raw = word >> (bits * i) & ((1U << bits) - 1);
  if (is_unsigned) return static_cast<std::int32_t>(raw);
  return static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits);
}

/// Calls visit(row, k, register, index in it, lane) for each element of a; of b with (k, column, ...).
template <class Visit>
void each_a(const Shape& shape, const Visit& visit) {
  const std::uint32_t e = shape.packed();
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t r = 0; r < shape.a_registers(); ++r) {
      const std::uint32_t half = shape.m == 16 ? r & 1 : 0;
      const std::uint32_t block = shape.m == 16 ? r >> 1 : r;
      for (std::uint32_t i = 0; i < e; ++i) visit(lane / 4 + 8 * half, lane % 4 * e + i + block * 4 * e, r, i, lane);
    }
  }
}

template <class Visit>
void each_b(const Shape& shape, const Visit& visit) {
  const std::uint32_t e = shape.packed();
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t r = 0; r < shape.b_registers(); ++r) {
      for (std::uint32_t i = 0; i < e; ++i) visit(lane % 4 * e + i + r * 4 * e, lane / 4, r, i, lane);
    }
  }
}

/// Calls visit(row, column, index of the accumulator's element, lane).
template <class Visit>
void each_c(const Shape& shape, const Visit& visit) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t i = 0; i < (shape.m == 16 ? 4U : 2U); ++i) visit(lane / 4 + 8 * (i >> 1), lane % 4 * 2 + (i & 1), i, lane);
  }
}

void multiply_integers(sg_thread* const (&threads)[32], const Shape& shape) {
  std::int32_t a[16][kMaxK] = {};
  std::int32_t b[kMaxK][8] = {};
  const std::uint32_t b_at = 1 + shape.a_registers();
  const std::uint32_t c_at = b_at + shape.b_registers();
  each_a(shape, [&](std::uint32_t row, std::uint32_t k, std::uint32_t r, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] != nullptr)
      a[row][k] = integer_value(shape, threads[lane]->in[1 + r], i, (shape.flags & SG_MF_A_UNSIGNED) != 0);
  });
  each_b(shape, [&](std::uint32_t k, std::uint32_t column, std::uint32_t r, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] != nullptr)
      b[k][column] = integer_value(shape, threads[lane]->in[b_at + r], i, (shape.flags & SG_MF_B_UNSIGNED) != 0);
  });
  each_c(shape, [&](std::uint32_t row, std::uint32_t column, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] == nullptr) return;
    std::int64_t sum = static_cast<std::int32_t>(threads[lane]->in[c_at + i]);
    for (std::uint32_t k = 0; k < shape.k; ++k) sum += std::int64_t{a[row][k]} * b[k][column];
    if ((shape.flags & SG_MF_SATURATE) != 0) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
    threads[lane]->out[i] = static_cast<std::uint32_t>(sum);
  });
}

double accumulator(const Shape& shape, const sg_thread& thread, std::uint32_t at, std::uint32_t i) {
  if (shape.element == SG_M_F64) return element_value(shape, thread.in + at + 2 * i, 0);
  if (shape.half_accumulate())
    return static_cast<double>(abi::helper::half_to_float(thread.in[at + i / 2] >> (16 * (i & 1)) & 0xffff, 0));
  return static_cast<double>(std::bit_cast<float>(thread.in[at + i]));
}

void store(const Shape& shape, sg_thread& thread, std::uint32_t i, double sum) {
  if (shape.element == SG_M_F64) {
    const auto bits = sum != sum ? 0x7ff8000000000000ULL : std::bit_cast<std::uint64_t>(sum);
    thread.out[2 * i] = static_cast<std::uint32_t>(bits);
    thread.out[2 * i + 1] = static_cast<std::uint32_t>(bits >> 32);
    return;
  }
  if (shape.half_accumulate()) {
    const auto half =
        static_cast<std::uint32_t>(abi::helper::convert(std::bit_cast<std::uint64_t>(sum), SG_T_F64, SG_T_F16, SG_RN, 0));
    if ((i & 1) == 0)
      thread.out[i / 2] = half;
    else
      thread.out[i / 2] |= half << 16;
    return;
  }
  const float rounded = static_cast<float>(sum);
  thread.out[i] = rounded != rounded ? 0x7fffffffU : std::bit_cast<std::uint32_t>(rounded);
}

void multiply_floats(sg_thread* const (&threads)[32], const Shape& shape) {
  double a[16][16] = {};
  double b[16][8] = {};
  const std::uint32_t words = shape.words();
  const std::uint32_t b_at = 1 + shape.a_registers() * words;
  const std::uint32_t c_at = b_at + shape.b_registers() * words;
  each_a(shape, [&](std::uint32_t row, std::uint32_t k, std::uint32_t r, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] != nullptr) a[row][k] = element_value(shape, threads[lane]->in + 1 + r * words, i);
  });
  each_b(shape, [&](std::uint32_t k, std::uint32_t column, std::uint32_t r, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] != nullptr) b[k][column] = element_value(shape, threads[lane]->in + b_at + r * words, i);
  });
  each_c(shape, [&](std::uint32_t row, std::uint32_t column, std::uint32_t i, std::uint32_t lane) {
    if (threads[lane] == nullptr) return;
    double sum = accumulator(shape, *threads[lane], c_at, i);
    for (std::uint32_t k = 0; k < shape.k; ++k) sum += a[row][k] * b[k][column];
    store(shape, *threads[lane], i, sum);
  });
}

}  // namespace

void multiply_matrices(sg_thread* const (&threads)[32], std::uint32_t op) {
  const Shape shape(op);
  if (shape.is_integer())
    multiply_integers(threads, shape);
  else
    multiply_floats(threads, shape);
}

void transpose_matrix(sg_thread* const (&threads)[32]) {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if (threads[lane] == nullptr) continue;
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < 2; ++i) {
      // Element (row, column) of the result is (column, row) of what came in.
      const std::uint32_t row = lane % 4 * 2 + i;
      const std::uint32_t column = lane / 4;
      const sg_thread* from = threads[row * 4 + column / 2];
      const std::uint32_t word = from == nullptr ? 0 : from->in[1];
      out |= (word >> (16 * (column & 1)) & 0xffff) << (16 * i);
    }
    threads[lane]->out[0] = out;
  }
}

}  // namespace cupool::simgpu::ptx
