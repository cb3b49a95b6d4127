// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tools/simgpu/module/lz4_block.h"

using cupool::simgpu::unpack_lz4_block;

namespace {

std::string unpack(const std::vector<int>& packed, std::size_t size) {
  std::vector<std::byte> bytes;
  for (const int value : packed) bytes.push_back(static_cast<std::byte>(value));
  return unpack_lz4_block(bytes, size);
}

}  // namespace

TEST_CASE("literals and overlapping matches unpack", "[simgpu][module]") {
  CHECK(unpack({0x30, 'a', 'b', 'c'}, 3) == "abc");
  // "ab", then six bytes from two back, then "!".
  CHECK(unpack({0x22, 'a', 'b', 2, 0, 0x10, '!'}, 9) == "abababab!");
}

TEST_CASE("a length of fifteen goes on in the bytes that follow", "[simgpu][module]") {
  std::vector<int> packed{0xf0, 5};
  for (int i = 0; i < 20; ++i) packed.push_back('x');
  CHECK(unpack(packed, 20) == std::string(20, 'x'));
}

TEST_CASE("a damaged block gives nothing and reads nothing beyond its end", "[simgpu][module]") {
  CHECK(unpack({0x30, 'a', 'b'}, 3).empty());                   // literals cut off
  CHECK(unpack({0x10, 'a', 2, 0, 0x10, '!'}, 6).empty());       // a match from before the start
  CHECK(unpack({0x10, 'a', 0, 0, 0x10, '!'}, 6).empty());       // a match at no distance
  CHECK(unpack({0x22, 'a', 'b', 2, 0, 0x10, '!'}, 8).empty());  // more than was promised
  CHECK(unpack({0xf0, 255, 255}, 600).empty());                 // a length that never ends
}
