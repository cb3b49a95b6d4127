// SPDX-License-Identifier: Apache-2.0
#include "policy/base/log.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace cupool::log {
namespace {

std::vector<std::string> g_lines;
void collect(Level, std::string_view line) { g_lines.emplace_back(line); }

struct Collected {
  Collected() { g_lines.clear(); set_sink(&collect); }
  ~Collected() { set_sink(nullptr); set_level(Level::warning); }
};

}  // namespace

TEST_CASE("lines above the level are not written", "[policy][base]") {
  Collected collected;
  set_level(Level::warning);
  write(Level::info, "quiet");
  write(Level::error, "loud");
  CHECK(g_lines == std::vector<std::string>{"loud"});
}

TEST_CASE("a used-up budget says so once and then counts in silence", "[policy][base]") {
  Collected collected;
  Budget budget{2};
  for (int i = 0; i < 5; ++i) write(Level::error, budget, "again");
  REQUIRE(g_lines.size() == 2);
  CHECK(g_lines[0] == "again");
  CHECK(g_lines[1] == "again (further lines of this kind are left out)");
  CHECK(budget.skipped() == 3);
}

TEST_CASE("every level has a name that reads back", "[policy][base]") {
  for (Level level : {Level::off, Level::error, Level::warning, Level::info, Level::debug}) {
    CHECK(level_from_text(to_text(level)) == level);
  }
  CHECK_FALSE(level_from_text("verbose").has_value());
}

}  // namespace cupool::log
