// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/base/units.h"

namespace cupool::policy {

/// A span of time. Policies write "30s", "1h30m"; nothing in policy/ reads a clock.
struct Duration {
  std::uint64_t ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
};
inline constexpr Duration kSecond{1'000'000'000};

/// A part of a whole in millionths: "60%" is 600,000. At most 100 %.
struct Share {
  std::uint32_t millionths = 0;
  constexpr auto operator<=>(const Share&) const = default;

  /// This part of `whole`, rounded down; exact for any 64-bit value.
  constexpr Bytes of(Bytes whole) const {
    return Bytes{whole.count / 1'000'000 * millionths + whole.count % 1'000'000 * millionths / 1'000'000};
  }
};

/// An amount of device memory as the policy wrote it. What it means in bytes depends on the pool: see bytes_in().
struct Size {
  enum class Kind : std::uint8_t { bytes, share, units, infinity };

  Kind kind = Kind::bytes;
  std::uint64_t value = 0;  ///< bytes, millionths of the whole, or units; unused for infinity

  constexpr bool operator==(const Size&) const = default;

  /// In bytes, where percentages are of `whole` and "12u" counts units of `unit` bytes. Infinity, and whatever does not fit in
  /// 64 bits, is the largest value.
  Bytes bytes_in(Bytes whole, Bytes unit) const;

  static constexpr Size bytes(Bytes amount) { return {Kind::bytes, amount.count}; }
  static constexpr Size percent(std::uint64_t percent) { return {Kind::share, percent * 10'000}; }
  static constexpr Size units(std::uint64_t count) { return {Kind::units, count}; }
  static constexpr Size infinity() { return {Kind::infinity, 0}; }
};

/// How many jobs: a number, or a multiple of the physical cores ("1.5x cores").
struct JobCount {
  std::uint64_t fixed = 0;                 ///< used when `per_core_thousandths` is 0
  std::uint32_t per_core_thousandths = 0;  ///< 1.5x is 1500

  constexpr bool operator==(const JobCount&) const = default;
  /// At least 1.
  constexpr std::uint64_t with_cores(std::uint64_t physical_cores) const {
    const std::uint64_t jobs = per_core_thousandths == 0 ? fixed : physical_cores * per_core_thousandths / 1000;
    return jobs == 0 ? 1 : jobs;
  }
};

/// A value or the reason, in words that say what to write instead.
template <class T>
struct Read {
  std::optional<T> value;
  std::string reason;
};

/// size = "infinity" | NUM"%" | NUM("B"|"KiB"|"MiB"|"GiB"|"TiB"|"Ki"|"Mi"|"Gi"|"Ti"|"K"|"M"|"G"|"T") | INT"u"; no blanks. All
/// multiples are of 1024. Decimals are rounded down to a byte. "GB" and the like are refused, naming both readings.
Read<Size> read_size(std::string_view text);

/// share = NUM"%", at most 100 %, at most four decimals.
Read<Share> read_share(std::string_view text);

/// duration = one or more INT("ns"|"us"|"ms"|"s"|"m"|"h"|"d"), no blanks, each unit once and falling: "1h30m".
Read<Duration> read_duration(std::string_view text);

/// jobs = NUM"x cores", at most three decimals.
Read<JobCount> read_job_count(std::string_view text);

/// The same value as policies write it: "12GiB", "60%", "1h30m", "1.5x cores".
std::string to_text(const Size& size);
std::string to_text(Share share);
std::string to_text(Duration duration);
std::string to_text(const JobCount& count);

}  // namespace cupool::policy
