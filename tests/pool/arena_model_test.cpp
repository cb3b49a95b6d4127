// SPDX-License-Identifier: Apache-2.0
//
// Drives whole arenas with random sequences of requests, frees, limits, peers, streams and failing calls, and shrinks a sequence
// that breaks a rule to a short one. CUPOOL_TEST_LONG=1: ten times as many. RC_PARAMS="seed=..." repeats a run.
#include <rapidcheck.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/pool/arena_driver.h"

namespace {

using namespace cupool;
using cupool::pool::ArenaDriver;

constexpr int kRecountEvery = 16;

ArenaDriver::Setting setting(const char* name, pool::Engine engine, bool slabs, std::uint64_t handle_mib, std::uint64_t unit_mib,
                             std::uint64_t limit_units) {
  ArenaDriver::Setting one;
  one.name = name;
  one.config.shape = pool::UnitShape{Bytes{unit_mib << 20}, Bytes{handle_mib << 20}};
  one.config.range = one.config.shape.unit * limit_units * 16;
  one.config.engine = engine;
  one.config.slabs = slabs;
  one.limit_units = limit_units;
  return one;
}

std::vector<ArenaDriver::Setting> settings() {
  return {
      setting("tlsf, 2 MiB handles", pool::Engine::tlsf, false, 2, 8, 6),
      setting("tlsf with slabs, 8 MiB handles", pool::Engine::tlsf, true, 8, 128, 12),
      setting("tlsf with slabs, 128 MiB handles", pool::Engine::tlsf, true, 128, 128, 24),
      setting("buddy with slabs, 8 MiB handles", pool::Engine::buddy, true, 8, 128, 4),
  };
}

std::uint64_t g_sequences = 0, g_operations = 0, g_moved = 0, g_refusals = 0;

std::string first_fault(const ArenaDriver::Setting& setting, const std::vector<std::uint32_t>& operations) {
  ArenaDriver driver(setting);
  ++g_sequences;
  int until_recount = kRecountEvery;
  for (const std::uint32_t operation : operations) {
    ++g_operations;
    std::string fault = driver.play(operation);
    if (fault.empty() && --until_recount == 0) {
      fault = driver.recount();
      until_recount = kRecountEvery;
    }
    if (!fault.empty()) return fault + ", at: " + ArenaDriver::describe(operation);
  }
  g_moved += driver.moved();
  g_refusals += driver.refusals();
  std::string fault = driver.recount();
  return fault.empty() ? driver.drain() : fault;
}

bool check(const ArenaDriver::Setting& setting) {
  return rc::check(std::string("no sequence of calls breaks a rule of an arena: ") + setting.name, [&setting] {
    const auto operations = *rc::gen::scale(
        8, rc::gen::container<std::vector<std::uint32_t>>(rc::gen::resize(100, rc::gen::arbitrary<std::uint32_t>())));
    const std::string fault = first_fault(setting, operations);
    if (!fault.empty()) RC_FAIL(fault);
  });
}

}  // namespace

int main() {
  const bool is_long = std::getenv("CUPOOL_TEST_LONG") != nullptr;
  if (std::getenv("RC_PARAMS") == nullptr) setenv("RC_PARAMS", is_long ? "max_success=100000" : "max_success=10000", 1);
  bool good = true;
  for (const ArenaDriver::Setting& one : settings()) good = check(one) && good;
  std::printf("%llu sequences, %llu operations, %llu handles moved, %llu refusals\n", static_cast<unsigned long long>(g_sequences),
              static_cast<unsigned long long>(g_operations), static_cast<unsigned long long>(g_moved),
              static_cast<unsigned long long>(g_refusals));
  // A test that never came to the limit has not tested much.
  if (g_moved == 0 || g_refusals == 0) std::printf("FAILED: the sequences never reached the limit\n");
  return good && g_moved != 0 && g_refusals != 0 ? 0 : 1;
}
