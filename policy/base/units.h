// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace cupool {

/// An amount of memory in bytes. Arithmetic is exact: use checked_add and checked_mul where a sum can overflow.
struct Bytes {
  std::uint64_t count = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { count += other.count; return *this; }
  constexpr Bytes& operator-=(Bytes other) { count -= other.count; return *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return Bytes{a.count * n}; }
};

/// A number of pool units. How large a unit is belongs to the policy (`pool.unit`), so converting needs the unit's size.
struct Units {
  std::uint64_t count = 0;

  constexpr auto operator<=>(const Units&) const = default;
  constexpr Units& operator+=(Units other) { count += other.count; return *this; }
  constexpr Units& operator-=(Units other) { count -= other.count; return *this; }
  friend constexpr Units operator+(Units a, Units b) { return Units{a.count + b.count}; }
  friend constexpr Units operator-(Units a, Units b) { return Units{a.count - b.count}; }
};

inline constexpr Bytes kKiB{std::uint64_t{1} << 10};
inline constexpr Bytes kMiB{std::uint64_t{1} << 20};
inline constexpr Bytes kGiB{std::uint64_t{1} << 30};

/// The smallest unit a policy may choose, and the step of larger ones.
inline constexpr Bytes kUnitStep{128 * kMiB.count};

constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

constexpr bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// Rounds down to a multiple of `step` (not zero).
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t step) { return value - value % step; }

/// Rounds up to a multiple of `step` (not zero); nothing when the result does not fit in 64 bits.
constexpr std::optional<std::uint64_t> round_up(std::uint64_t value, std::uint64_t step) {
  const std::uint64_t rest = value % step;
  return rest == 0 ? std::optional{value} : checked_add(value, step - rest);
}

/// Whole units that fit in `bytes`: limits are rounded down.
constexpr Units units_within(Bytes bytes, Bytes unit) { return Units{bytes.count / unit.count}; }

/// Units needed to hold `bytes`: demands are rounded up.
constexpr Units units_covering(Bytes bytes, Bytes unit) {
  return Units{bytes.count / unit.count + (bytes.count % unit.count != 0 ? 1 : 0)};
}

/// Text for people and messages: exact when it can be ("8 MiB", "1536 B"), else three significant digits ("1.46 GiB").
std::string to_text(Bytes bytes);

}  // namespace cupool
