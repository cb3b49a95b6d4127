// SPDX-License-Identifier: Apache-2.0
#include "policy/value.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace cupool::policy {

TEST_CASE("sizes are read by their grammar", "[policy][value]") {
  const std::vector<std::pair<const char*, Size>> good = {
      {"0B", Size::bytes(Bytes{0})},
      {"1024B", Size::bytes(kKiB)},
      {"1KiB", Size::bytes(kKiB)},
      {"1Ki", Size::bytes(kKiB)},
      {"1K", Size::bytes(kKiB)},
      {"3MiB", Size::bytes(Bytes{3 << 20})},
      {"1.5GiB", Size::bytes(Bytes{3ULL << 29})},
      {"0.1KiB", Size::bytes(Bytes{102})},
      {"1T", Size::bytes(Bytes{1ULL << 40})},
      {"16777215.999999TiB", Size::bytes(Bytes{18446744073708452104ULL})},
      {"60%", Size::percent(60)},
      {"0.0001%", {Size::Kind::share, 1}},
      {"100.0000%", Size::percent(100)},
      {"12u", Size::units(12)},
      {"infinity", Size::infinity()},
      {"007GiB", Size::bytes(Bytes{7ULL << 30})},
  };
  for (const auto& [text, size] : good) {
    INFO(text);
    const auto read = read_size(text);
    REQUIRE(read.value.has_value());
    CHECK(*read.value == size);
  }
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"60GB", R"(write "60GiB" (64424509440) or 60000000000)"},
      {"60gb", "ambiguous"},
      {"1.5MB", R"("1.5MiB" (1572864) or 1500000)"},
      {"18446744073709551615TB", "ambiguous"},
      {"12", "has no unit"},
      {"12 GiB", R"(write "12GiB")"},
      {"12gib", R"(write "12GiB")"},
      {"60 %", R"(write "60%")"},
      {"12x", "is not a size"},
      {"", "is empty"},
      {"GiB", "is not a size"},
      {"-1GiB", "negative"},
      {"1e3GiB", "is not a size"},
      {".5GiB", "is not a size"},
      {"1.GiB", "is not a size"},
      {"1.1234567GiB", "six decimals"},
      {"18446744073709551616B", "64 bits"},
      {"16777216TiB", "64 bits"},
      {"99999999999999999999u", "64 bits"},
      {"101%", "100%"},
      {"100.0001%", "100%"},
      {"1.00001%", "four decimals"},
      {"1.5u", "whole number of units"},
      {"0.5B", "whole number of bytes"},
      {"Infinity", "is not a size"},
      {"infinite", "is not a size"},
      {"12GiB\n", "is not a size"},
      {"0x10MiB", "is not a size"},
  };
  for (const auto& [text, reason] : bad) {
    const auto read = read_size(text);
    INFO(text << ": " << read.reason);
    CHECK_FALSE(read.value.has_value());
    CHECK(read.reason.find(reason) != std::string::npos);
  }
}

TEST_CASE("durations are read by their grammar", "[policy][value]") {
  const std::vector<std::pair<const char*, std::uint64_t>> good = {
      {"0s", 0},
      {"1ns", 1},
      {"1us", 1000},
      {"1ms", 1'000'000},
      {"1s", kSecond.ns},
      {"1m", 60 * kSecond.ns},
      {"1h30m", 5400 * kSecond.ns},
      {"2d", 172'800 * kSecond.ns},
      {"1d2h3m4s5ms6us7ns", 93'784'005'006'007ULL},
  };
  for (const auto& [text, ns] : good) {
    INFO(text);
    const auto read = read_duration(text);
    REQUIRE(read.value.has_value());
    CHECK(read.value->ns == ns);
  }
  for (const char* text : {"", "s", "1", "1.5h", "1h1h", "1m1h", "1h 30m", "-1s", "1s2", "999999999999d", "99999999999999999999s",
                           "1H", "584y", "213503d24h"}) {
    INFO(text);
    const auto read = read_duration(text);
    CHECK_FALSE(read.value.has_value());
    CHECK_FALSE(read.reason.empty());
  }
}

TEST_CASE("what is written is read back as the same value", "[policy][value]") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t wide = random() >> (random() % 64);
    const Size sizes[] = {Size::bytes(Bytes{wide}), Size::units(wide), {Size::Kind::share, random() % 1'000'001}, Size::infinity()};
    const Size& size = sizes[random() % 4];
    CAPTURE(to_text(size));
    REQUIRE(read_size(to_text(size)).value == size);
    const Duration duration{wide};
    CAPTURE(to_text(duration));
    REQUIRE(read_duration(to_text(duration)).value == duration);
    const JobCount count{0, static_cast<std::uint32_t>(1 + random() % 1'000'000)};
    CAPTURE(to_text(count));
    REQUIRE(read_job_count(to_text(count)).value == count);
  }
}

TEST_CASE("a share of any amount is exact and never more than the amount", "[policy][value]") {
  CHECK(Share{1'000'000}.of(Bytes{UINT64_MAX}) == Bytes{UINT64_MAX});
  CHECK(Share{600'000}.of(Bytes{10}) == Bytes{6});
  CHECK(Share{500'000}.of(Bytes{UINT64_MAX}) == Bytes{UINT64_MAX / 2});
  CHECK(Share{1}.of(Bytes{999'999}) == Bytes{0});
}

TEST_CASE("sizes become bytes without wrapping", "[policy][value]") {
  const Bytes whole{100 * kGiB.count};
  CHECK(Size::percent(60).bytes_in(whole, kUnitStep) == Bytes{60 * kGiB.count});
  CHECK(Size::units(3).bytes_in(whole, kUnitStep) == Bytes{384 * kMiB.count});
  CHECK(Size::units(UINT64_MAX).bytes_in(whole, kUnitStep) == Bytes{UINT64_MAX});
  CHECK(Size::infinity().bytes_in(whole, kUnitStep) == Bytes{UINT64_MAX});
}

TEST_CASE("the number of jobs follows the cores and is never nought", "[policy][value]") {
  CHECK(JobCount{0, 1500}.with_cores(8) == 12);
  CHECK(JobCount{0, 1500}.with_cores(1) == 1);
  CHECK(JobCount{0, 100}.with_cores(1) == 1);
  CHECK(JobCount{7, 0}.with_cores(64) == 7);
}

}  // namespace cupool::policy
