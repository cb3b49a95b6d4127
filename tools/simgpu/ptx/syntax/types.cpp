// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/types.h"

#include <array>
#include <utility>

namespace cupool::simgpu::ptx {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 33> kTypes{{
    {"pred", kPred},
    {"b8", {Kind::bits, 8, 1}},
    {"b16", kB16},
    {"b32", kB32},
    {"b64", kB64},
    {"b128", {Kind::bits, 128, 1}},
    {"u8", {Kind::unsigned_integer, 8, 1}},
    {"u16", {Kind::unsigned_integer, 16, 1}},
    {"u32", kU32},
    {"u64", kU64},
    {"s8", {Kind::signed_integer, 8, 1}},
    {"s16", {Kind::signed_integer, 16, 1}},
    {"s32", kS32},
    {"s64", kS64},
    {"u16x2", {Kind::unsigned_integer, 16, 2}},
    {"s16x2", {Kind::signed_integer, 16, 2}},
    {"u8x4", {Kind::unsigned_integer, 8, 4}},
    {"s8x4", {Kind::signed_integer, 8, 4}},
    {"f16", kF16},
    {"f16x2", {Kind::ieee, 16, 2}},
    {"f32", kF32},
    {"f32x2", {Kind::ieee, 32, 2}},
    {"f64", kF64},
    {"bf16", {Kind::bfloat, 16, 1}},
    {"bf16x2", {Kind::bfloat, 16, 2}},
    {"tf32", {Kind::tf32, 32, 1}},
    {"e4m3", {Kind::e4m3, 8, 1}},
    {"e5m2", {Kind::e5m2, 8, 1}},
    {"e4m3x2", {Kind::e4m3, 8, 2}},
    {"e5m2x2", {Kind::e5m2, 8, 2}},
    {"s4", {Kind::signed_integer, 4, 1}},
    {"u4", {Kind::unsigned_integer, 4, 1}},
    {"b1", {Kind::bits, 1, 1}},
}};

}  // namespace

std::optional<Type> type_from_word(std::string_view word) {
  for (const auto& [name, type] : kTypes) {
    if (name == word) return type;
  }
  return std::nullopt;
}

std::string to_text(Type type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  return "unknown type";
}

}  // namespace cupool::simgpu::ptx
