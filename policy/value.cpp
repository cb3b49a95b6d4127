// SPDX-License-Identifier: Apache-2.0
#include "policy/value.h"

#include <array>
#include <limits>

namespace cupool::policy {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A decimal number at the front of a text: whole part, and the digits behind the point as `fraction / 10^decimals`.
struct Decimal {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  unsigned decimals = 0;
  std::string_view rest;
};
constexpr unsigned kMostDecimals = 6;

enum class DecimalFault { none, no_digits, too_large, too_fine };

DecimalFault read_decimal(std::string_view text, Decimal& out) {
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    const auto grown = checked_mul(out.whole, 10);
    const auto sum = grown ? checked_add(*grown, static_cast<std::uint64_t>(text[at] - '0')) : grown;
    if (!sum) return DecimalFault::too_large;
    out.whole = *sum;
  }
  if (at == 0) return DecimalFault::no_digits;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) {
      if (++out.decimals > kMostDecimals) return DecimalFault::too_fine;
      out.fraction = out.fraction * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    if (out.decimals == 0) return DecimalFault::no_digits;
  }
  out.rest = text.substr(at);
  return DecimalFault::none;
}

std::uint64_t power_of_ten(unsigned exponent) {
  std::uint64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

/// value * scale, rounded down; nothing when it does not fit. `scale` is at most 2^40.
std::optional<std::uint64_t> scaled(const Decimal& value, std::uint64_t scale) {
  const auto whole = checked_mul(value.whole, scale);
  if (!whole) return std::nullopt;
  return checked_add(*whole, value.fraction * scale / power_of_ten(value.decimals));
}

struct Suffix {
  std::string_view text;
  unsigned shift;
};
constexpr std::array<Suffix, 13> kBinary{{{"B", 0},
                                          {"KiB", 10},
                                          {"MiB", 20},
                                          {"GiB", 30},
                                          {"TiB", 40},
                                          {"Ki", 10},
                                          {"Mi", 20},
                                          {"Gi", 30},
                                          {"Ti", 40},
                                          {"K", 10},
                                          {"M", 20},
                                          {"G", 30},
                                          {"T", 40}}};

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

bool same_but_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/// Why a suffix is no size suffix, and what to write: the two readings of "GB", a wrong case, a blank, a missing unit.
std::string suffix_fault(std::string_view text, const Decimal& number) {
  const std::string_view digits = text.substr(0, text.size() - number.rest.size());
  if (number.rest.empty()) {
    return quoted(text) + " has no unit; write " + quoted(std::string(digits) + "GiB") + ", or a number without quotes for bytes";
  }
  static constexpr std::string_view kLetters = "KMGT";
  for (std::size_t power = 0; power < kLetters.size(); ++power) {
    const std::string decimal{kLetters[power], 'B'};
    if (!same_but_case(number.rest, decimal)) continue;
    const std::string binary = std::string(digits) + kLetters[power] + "iB";
    const auto in_binary = scaled(number, std::uint64_t{1} << 10 * (power + 1));
    const auto in_decimal = scaled(number, power_of_ten(3 * (static_cast<unsigned>(power) + 1)));
    std::string fault = quoted(text) + " is ambiguous; write " + quoted(binary);
    if (in_binary && in_decimal) fault += " (" + std::to_string(*in_binary) + ") or " + std::to_string(*in_decimal);
    return fault;
  }
  std::string_view bare = number.rest;
  while (!bare.empty() && bare.front() == ' ') bare.remove_prefix(1);
  while (!bare.empty() && bare.back() == ' ') bare.remove_suffix(1);
  for (const Suffix& suffix : kBinary) {
    if (same_but_case(bare, suffix.text))
      return quoted(text) + " is not a size; write " + quoted(std::string(digits).append(suffix.text));
  }
  if (bare == "%") return quoted(text) + " is not a size; write " + quoted(std::string(digits) + "%");
  return quoted(text) + R"( is not a size; write for example "12GiB", "60%", "12u" (units) or "infinity")";
}

std::string decimal_fault(std::string_view text, DecimalFault fault, const char* what, const char* example) {
  switch (fault) {
    case DecimalFault::too_large:
      return quoted(text) + " does not fit in 64 bits";
    case DecimalFault::too_fine:
      return quoted(text) + " has more than six decimals";
    default:
      break;
  }
  if (!text.empty() && text.front() == '-') return quoted(text) + " is negative; write " + what + " such as " + example;
  if (text.empty()) return std::string("is empty; write ") + what + " such as " + example;
  return quoted(text) + " is not " + what + "; write for example " + example;
}

std::string trimmed_decimal(std::uint64_t whole, std::uint64_t fraction, unsigned decimals) {
  std::string text = std::to_string(whole);
  if (fraction == 0) return text;
  std::string digits = std::to_string(fraction);
  digits.insert(0, decimals - digits.size(), '0');
  while (digits.back() == '0') digits.pop_back();
  return text + '.' + digits;
}

struct TimeUnit {
  std::string_view text;
  std::uint64_t ns;
};
constexpr std::array<TimeUnit, 7> kTimeUnits{{{"d", 86'400 * kSecond.ns},
                                              {"h", 3600 * kSecond.ns},
                                              {"m", 60 * kSecond.ns},
                                              {"s", kSecond.ns},
                                              {"ms", 1'000'000},
                                              {"us", 1000},
                                              {"ns", 1}}};

}  // namespace

Bytes Size::bytes_in(Bytes whole, Bytes unit) const {
  switch (kind) {
    case Kind::bytes:
      return Bytes{value};
    case Kind::share:
      return Share{static_cast<std::uint32_t>(value)}.of(whole);
    case Kind::units:
      return Bytes{checked_mul(value, unit.count).value_or(kMost)};
    case Kind::infinity:
      break;
  }
  return Bytes{kMost};
}

Read<Size> read_size(std::string_view text) {
  if (text == "infinity") return {Size::infinity(), {}};
  Decimal number;
  if (const DecimalFault fault = read_decimal(text, number); fault != DecimalFault::none) {
    return {std::nullopt, decimal_fault(text, fault, "a size", R"("12GiB" or "60%")")};
  }
  if (number.rest == "%") {
    const Read<Share> share = read_share(text);
    if (!share.value) return {std::nullopt, share.reason};
    return {Size{Size::Kind::share, share.value->millionths}, {}};
  }
  if (number.rest == "u") {
    if (number.decimals > 0) return {std::nullopt, quoted(text) + " is not a whole number of units"};
    return {Size::units(number.whole), {}};
  }
  for (const Suffix& suffix : kBinary) {
    if (number.rest != suffix.text) continue;
    if (suffix.shift == 0 && number.decimals > 0) return {std::nullopt, quoted(text) + " is not a whole number of bytes"};
    const auto bytes = scaled(number, std::uint64_t{1} << suffix.shift);
    if (!bytes) return {std::nullopt, decimal_fault(text, DecimalFault::too_large, "", "")};
    return {Size::bytes(Bytes{*bytes}), {}};
  }
  return {std::nullopt, suffix_fault(text, number)};
}

Read<Share> read_share(std::string_view text) {
  Decimal number;
  if (const DecimalFault fault = read_decimal(text, number); fault != DecimalFault::none) {
    return {std::nullopt, decimal_fault(text, fault, "a percentage", R"("60%")")};
  }
  if (number.rest != "%") return {std::nullopt, quoted(text) + R"( is not a percentage; write for example "60%")"};
  if (number.decimals > 4) return {std::nullopt, quoted(text) + " has more than four decimals"};
  if (number.whole > 100 || (number.whole == 100 && number.fraction > 0))
    return {std::nullopt, quoted(text) + " is more than 100%"};
  return {Share{static_cast<std::uint32_t>(number.whole * 10'000 + number.fraction * 10'000 / power_of_ten(number.decimals))}, {}};
}

Read<Duration> read_duration(std::string_view text) {
  std::uint64_t total = 0;
  std::size_t next_unit = 0;
  std::string_view rest = text;
  do {
    Decimal number;
    const DecimalFault fault = read_decimal(rest, number);
    if (fault == DecimalFault::too_large) return {std::nullopt, decimal_fault(text, fault, "", "")};
    if (fault != DecimalFault::none)
      return {std::nullopt, decimal_fault(text, DecimalFault::no_digits, "a duration", R"("30s" or "1h30m")")};
    if (number.decimals > 0)
      return {std::nullopt, quoted(text) + R"( has a fraction; write a smaller unit, such as "1h30m" or "500ms")"};
    std::size_t length = 0;
    while (length < number.rest.size() && !is_digit(number.rest[length])) ++length;
    const std::string_view unit = number.rest.substr(0, length);
    if (unit.empty())
      return {std::nullopt, quoted(text) + " has no unit; write " + quoted(std::string(text) + "s") + " for seconds"};
    std::size_t found = 0;
    while (found < kTimeUnits.size() && kTimeUnits[found].text != unit) ++found;
    if (found == kTimeUnits.size()) {
      return {std::nullopt, quoted(text) + R"( is not a duration; units are ns, us, ms, s, m (minutes), h and d: "1h30m")"};
    }
    if (found < next_unit)
      return {std::nullopt, quoted(text) + R"( repeats a unit or mixes their order; write the largest first: "1h30m")"};
    next_unit = found + 1;
    const auto part = checked_mul(number.whole, kTimeUnits[found].ns);
    const auto sum = part ? checked_add(total, *part) : part;
    if (!sum) return {std::nullopt, quoted(text) + " is longer than 584 years"};
    total = *sum;
    rest = number.rest.substr(length);
  } while (!rest.empty());
  return {Duration{total}, {}};
}

Read<JobCount> read_job_count(std::string_view text) {
  Decimal number;
  const DecimalFault fault = read_decimal(text, number);
  if (fault != DecimalFault::none || number.rest != "x cores") {
    return {std::nullopt, quoted(text) + R"( is not a number of jobs; write for example 12 or "1.5x cores")"};
  }
  if (number.decimals > 3) return {std::nullopt, quoted(text) + " has more than three decimals"};
  if (number.whole > 1000) return {std::nullopt, quoted(text) + " is more than 1000x cores"};
  const std::uint64_t thousandths = number.whole * 1000 + number.fraction * 1000 / power_of_ten(number.decimals);
  if (thousandths == 0) return {std::nullopt, quoted(text) + " allows no job at all"};
  return {JobCount{0, static_cast<std::uint32_t>(thousandths)}, {}};
}

std::string to_text(Share share) {
  return trimmed_decimal(share.millionths / 10'000, share.millionths % 10'000, 4) + '%';
}

std::string to_text(const Size& size) {
  switch (size.kind) {
    case Size::Kind::infinity:
      return "infinity";
    case Size::Kind::units:
      return std::to_string(size.value) + 'u';
    case Size::Kind::share:
      return to_text(Share{static_cast<std::uint32_t>(size.value)});
    case Size::Kind::bytes:
      break;
  }
  for (std::size_t i = 4; i > 0; --i) {
    const Suffix& suffix = kBinary[i];
    if (size.value != 0 && size.value % (std::uint64_t{1} << suffix.shift) == 0) {
      return std::to_string(size.value >> suffix.shift).append(suffix.text);
    }
  }
  return std::to_string(size.value) + 'B';
}

std::string to_text(Duration duration) {
  if (duration.ns == 0) return "0s";
  std::string text;
  for (const TimeUnit& unit : kTimeUnits) {
    const std::uint64_t count = duration.ns / unit.ns;
    if (count == 0) continue;
    text += std::to_string(count).append(unit.text);
    duration.ns %= unit.ns;
  }
  return text;
}

std::string to_text(const JobCount& count) {
  if (count.per_core_thousandths == 0) return std::to_string(count.fixed);
  return trimmed_decimal(count.per_core_thousandths / 1000, count.per_core_thousandths % 1000, 3) + "x cores";
}

}  // namespace cupool::policy
