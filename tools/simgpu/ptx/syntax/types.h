// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupool::simgpu::ptx {

/// What the bits of a PTX type mean.
enum class Kind : std::uint8_t { bits, unsigned_integer, signed_integer, ieee, bfloat, tf32, e4m3, e5m2, predicate };

/// A PTX fundamental type: `.f16x2` is {ieee, 16, 2}. `width` is of one lane, in bits; predicates have width 1.
struct Type {
  Kind kind = Kind::bits;
  std::uint8_t width = 32;
  std::uint8_t lanes = 1;

  constexpr bool operator==(const Type&) const = default;
  constexpr std::uint32_t bits() const { return std::uint32_t{width} * lanes; }
  constexpr std::uint32_t bytes() const { return kind == Kind::predicate ? 1 : bits() / 8; }
  constexpr bool is_integer() const { return kind == Kind::bits || kind == Kind::unsigned_integer || kind == Kind::signed_integer; }
  constexpr bool is_signed() const { return kind == Kind::signed_integer; }
  constexpr bool is_float() const { return !is_integer() && kind != Kind::predicate; }
};

inline constexpr Type kPred{Kind::predicate, 1, 1};
inline constexpr Type kB16{Kind::bits, 16, 1};
inline constexpr Type kB32{Kind::bits, 32, 1};
inline constexpr Type kB64{Kind::bits, 64, 1};
inline constexpr Type kU32{Kind::unsigned_integer, 32, 1};
inline constexpr Type kU64{Kind::unsigned_integer, 64, 1};
inline constexpr Type kS32{Kind::signed_integer, 32, 1};
inline constexpr Type kS64{Kind::signed_integer, 64, 1};
inline constexpr Type kF16{Kind::ieee, 16, 1};
inline constexpr Type kF32{Kind::ieee, 32, 1};
inline constexpr Type kF64{Kind::ieee, 64, 1};

/// The type that a modifier such as "f32" or "bf16x2" (without its dot) names; nothing for any other word.
std::optional<Type> type_from_word(std::string_view word);

/// "f32", "bf16x2", "pred".
std::string to_text(Type type);

}  // namespace cupool::simgpu::ptx
