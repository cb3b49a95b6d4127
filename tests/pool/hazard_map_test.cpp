// SPDX-License-Identifier: Apache-2.0
#include "pool/hazard_map.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>

namespace cupool::pool {
namespace {

Run run(std::uint64_t start, std::uint64_t length) {
  return Run{Granules{start}, Granules{length}};
}

}  // namespace

TEST_CASE("only a request that comes later in the same stream may have hazardous memory", "[pool][deferred]") {
  HazardMap map;
  map.set(run(10, 10), StreamId{1}, FreeTicket{5});
  const std::array later{StreamOrder{StreamId{1}, kEveryFree}};
  const std::array earlier{StreamOrder{StreamId{1}, FreeTicket{4}}};
  const std::array other{StreamOrder{StreamId{2}, kEveryFree}};
  CHECK(map.conflicts(run(0, 11), {}));
  CHECK(map.conflicts(run(19, 5), other));
  CHECK(map.conflicts(run(0, 100), earlier));
  CHECK_FALSE(map.conflicts(run(0, 100), later));
  CHECK_FALSE(map.conflicts(run(0, 10), {}));
  CHECK_FALSE(map.conflicts(run(20, 10), {}));
}

TEST_CASE("neighbours of one stream join, those of different streams do not", "[pool][deferred]") {
  HazardMap map;
  map.set(run(0, 10), StreamId{1}, FreeTicket{1});
  map.set(run(20, 10), StreamId{1}, FreeTicket{2});
  map.set(run(10, 10), StreamId{1}, FreeTicket{3});
  CHECK(map.size() == 1);
  map.set(run(30, 10), StreamId{2}, FreeTicket{4});
  CHECK(map.size() == 2);
  CHECK(map.granules() == Granules{40});
  map.complete(StreamId{1}, FreeTicket{2});
  CHECK(map.conflicts(run(0, 1), {}));  // joined, it waits for the last of the three
  map.complete(StreamId{1}, FreeTicket{3});
  CHECK_FALSE(map.conflicts(run(0, 30), {}));
  CHECK(map.granules() == Granules{10});
}

TEST_CASE("hazards agree with a note for every granule", "[pool][deferred]") {
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  struct Note {
    std::uint64_t stream = 0, ticket = 0;
  };
  std::array<Note, 300> model{};
  HazardMap map;
  std::uint64_t ticket = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t start = random() % 280, length = 1 + random() % 20;
    switch (random() % 4) {
      case 0:
      case 1: {
        const std::uint64_t stream = 1 + random() % 3;
        map.clear(run(start, length));
        map.set(run(start, length), StreamId{stream}, FreeTicket{++ticket});
        for (std::uint64_t i = start; i < start + length; ++i) model[i] = {stream, ticket};
        // Joined hazards wait for the later free: the model follows.
        for (std::uint64_t i = start; i-- > 0 && model[i].stream == stream;) model[i].ticket = ticket;
        for (std::uint64_t i = start + length; i < model.size() && model[i].stream == stream; ++i) model[i].ticket = ticket;
        break;
      }
      case 2:
        map.clear(run(start, length));
        for (std::uint64_t i = start; i < start + length; ++i) model[i] = {};
        break;
      default: {
        const std::uint64_t stream = 1 + random() % 3, done = ticket - std::min<std::uint64_t>(ticket, random() % 30);
        if (random() % 4 != 0) break;
        map.complete(StreamId{stream}, FreeTicket{done});
        for (Note& note : model) {
          if (note.stream == stream && note.ticket <= done) note = {};
        }
      }
    }
    std::uint64_t noted = 0;
    for (const Note& note : model) noted += note.stream != 0 ? 1 : 0;
    REQUIRE(map.granules().count == noted);
    const std::uint64_t at = random() % 300;
    REQUIRE(map.conflicts(run(at, 1), {}) == (model[at].stream != 0));
    const std::array order{StreamOrder{StreamId{1}, FreeTicket{ticket / 2}}};
    const bool expected = model[at].stream != 0 && !(model[at].stream == 1 && model[at].ticket <= ticket / 2);
    REQUIRE(map.conflicts(run(at, 1), order) == expected);
  }
}

}  // namespace cupool::pool
