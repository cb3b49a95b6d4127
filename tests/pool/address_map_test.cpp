// SPDX-License-Identifier: Apache-2.0
#include "pool/address_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace cupool::pool {
namespace {

AddressMap::Record record_at(std::uint64_t base, std::uint64_t size, std::uint64_t identity = 1) {
  const std::uint64_t given = *round_up(size, 512);
  return AddressMap::Record{Block{Address{base}, Bytes{size}, Bytes{given}, BlockIdentity{identity}, DeviceId{0}, CallSite{}}, 7};
}

constexpr std::uint64_t kBase = std::uint64_t{0x7f00} << 32;

}  // namespace

TEST_CASE("an exact and any interior address find their block, the next byte does not", "[pool][address_map]") {
  const std::uint64_t size = GENERATE(1ULL, 512ULL, 5000ULL, 2ULL << 20, (3ULL << 20) + 1, 700ULL << 20, 5ULL << 30);
  const std::uint64_t offset = GENERATE(0ULL, 512ULL, (2ULL << 20) - 512, 1ULL << 30);
  AddressMap map;
  const auto record = record_at(kBase + offset, size);
  REQUIRE(map.insert(record));
  const std::uint64_t base = record.block.base.value;
  const std::uint64_t given = record.block.given.count;
  for (const std::uint64_t inside : {std::uint64_t{0}, given / 3, given / 2, given - 1}) {
    CAPTURE(inside);
    REQUIRE(map.find(Address{base + inside}) != nullptr);
    CHECK(map.find(Address{base + inside})->block.base.value == base);
  }
  CHECK(map.find(Address{base - 1}) == nullptr);
  CHECK(map.find(Address{base + given}) == nullptr);
  CHECK(map.find_exact(Address{base + 256}) == nullptr);
}

TEST_CASE("only the exact address ends a block, and only once", "[pool][address_map]") {
  AddressMap map;
  REQUIRE(map.insert(record_at(kBase, 4096)));
  CHECK(map.erase(Address{kBase + 512}).error().code == Errc::not_taken);
  CHECK(map.erase(Address{kBase}).value().mark == 7);
  CHECK(map.erase(Address{kBase}).error().code == Errc::not_taken);
  CHECK(map.find(Address{kBase}) == nullptr);
  CHECK(map.size() == 0);
}

TEST_CASE("an overlapping block is refused wherever the overlap lies", "[pool][address_map]") {
  AddressMap map;
  const std::uint64_t size = 10 << 20;
  REQUIRE(map.insert(record_at(kBase + size, size)));
  CHECK(map.insert(record_at(kBase + size, 512)).error().code == Errc::exists);
  CHECK(map.insert(record_at(kBase + 2 * size - 512, 512)).error().code == Errc::exists);
  CHECK(map.insert(record_at(kBase, size + 512)).error().code == Errc::exists);
  CHECK(map.insert(record_at(kBase, 3 * size)).error().code == Errc::exists);
  CHECK(map.insert(record_at(kBase, size)));
  CHECK(map.insert(record_at(kBase + 2 * size, size)));
}

TEST_CASE("a block that is empty, misaligned or wraps around is refused", "[pool][address_map]") {
  AddressMap map;
  CHECK(map.insert(record_at(kBase + 1, 512)).error().code == Errc::invalid_argument);
  CHECK(map.insert(record_at(kBase, 0)).error().code == Errc::invalid_argument);
  auto wraps = record_at(~std::uint64_t{0} - 1023, 512);
  wraps.block.given = Bytes{4096};
  CHECK(map.insert(wraps).error().code == Errc::invalid_argument);
}

TEST_CASE("many blocks in many ranges are found as an ordered map finds them", "[pool][address_map]") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  AddressMap map;
  std::map<std::uint64_t, AddressMap::Record> model;
  const auto model_find = [&](std::uint64_t address) -> const AddressMap::Record* {
    auto it = model.upper_bound(address);
    if (it == model.begin()) return nullptr;
    --it;
    return address - it->first < it->second.block.given.count ? &it->second : nullptr;
  };
  for (std::uint64_t step = 0; step < 60000; ++step) {
    const std::uint64_t range = (random() % 4) << 34;
    const std::uint64_t address = kBase + range + (random() % (64 << 20)) / 512 * 512;
    const std::uint64_t size = std::uint64_t{1} << (random() % 24);
    const auto record = record_at(address, size, step + 1);
    const std::uint64_t given = record.block.given.count;
    const auto next = model.lower_bound(address);
    const bool fits = model_find(address) == nullptr && (next == model.end() || next->first >= address + given);
    if (random() % 2 == 0) {
      REQUIRE(map.insert(record).has_value() == fits);
      if (fits) model[address] = record;
    } else if (const auto* found = model_find(address)) {
      const std::uint64_t base = found->block.base.value;
      REQUIRE(map.erase(Address{base}).value().block.identity == found->block.identity);
      model.erase(base);
    }
    const std::uint64_t probe = kBase + range + random() % (80 << 20);
    const auto* expected = model_find(probe);
    const auto* actual = map.find(Address{probe});
    REQUIRE((actual == nullptr) == (expected == nullptr));
    if (actual != nullptr) REQUIRE(actual->block.identity == expected->block.identity);
    REQUIRE(map.size() == model.size());
  }
  std::uint64_t visited = 0;
  map.for_each([&](const AddressMap::Record& record) { visited += model.count(record.block.base.value); });
  CHECK(visited == model.size());
}

TEST_CASE("what a block costs in metadata stays within 64 bytes and 0.1 % of its memory", "[pool][address_map]") {
  AddressMap map;
  const std::uint64_t blocks = 20000, size = 96 << 10;
  for (std::uint64_t i = 0; i < blocks; ++i) REQUIRE(map.insert(record_at(kBase + i * size, size)));
  // The records of 64 bytes double when they grow: measured against what they could be at worst.
  CHECK(map.metadata().count <= blocks * 2 * 64 + blocks * 2 * 16 + blocks * size / 1000);
}

}  // namespace cupool::pool
