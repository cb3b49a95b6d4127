// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/address_space.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace cupool::simgpu {

TEST_CASE("ranges come from the lowest address that fits and merge when they return", "[simgpu][address_space]") {
  AddressSpace space;
  space.add(0x1000, 0x9000);
  const auto a = space.take(0x1000, 0x1000);
  const auto b = space.take(0x2000, 0x2000);
  REQUIRE((a && b));
  CHECK(*a == 0x1000);
  CHECK(*b == 0x2000);
  space.give_back(*a, 0x1000);
  space.give_back(*b, 0x2000);
  CHECK(space.free_runs() == 1);
  CHECK(space.free_bytes() == 0x9000);
}

TEST_CASE("a chosen place is taken only if all of it is free", "[simgpu][address_space]") {
  AddressSpace space;
  space.add(0x10000, 0x10000);
  REQUIRE(space.take_at(0x14000, 0x1000));
  CHECK_FALSE(space.take_at(0x13000, 0x2000));
  CHECK_FALSE(space.take_at(0x1f000, 0x2000));
  CHECK_FALSE(space.take_at(0x0, 0x1000));
  CHECK(space.take_at(0x15000, 0xb000));
}

TEST_CASE("random takes and returns never overlap and lose nothing", "[simgpu][address_space]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  constexpr std::uint64_t kBase = 1 << 20;
  constexpr std::uint64_t kSize = 1 << 24;
  AddressSpace space;
  space.add(kBase, kSize);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 3 != 0) {
      const std::uint64_t bytes = (1 + random() % 64) * 512;
      const std::uint64_t alignment = std::uint64_t{512} << (random() % 6);
      const auto base = space.take(bytes, alignment);
      if (!base) continue;
      REQUIRE(*base % alignment == 0);
      const auto after = taken.lower_bound(*base);
      REQUIRE((after == taken.end() || after->first >= *base + bytes));
      REQUIRE((after == taken.begin() || std::prev(after)->first + std::prev(after)->second <= *base));
      taken.emplace(*base, bytes);
    } else if (!taken.empty()) {
      auto victim = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      space.give_back(victim->first, victim->second);
      taken.erase(victim);
    }
  }
  for (const auto& [base, bytes] : taken) space.give_back(base, bytes);
  CHECK(space.free_runs() == 1);
  CHECK(space.free_bytes() == kSize);
}

}  // namespace cupool::simgpu
