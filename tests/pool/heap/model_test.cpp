// SPDX-License-Identifier: Apache-2.0
//
// Drives every engine with random sequences against the naive reference, and shrinks a sequence that fails to a short one.
// 50,000 sequences and 10 million operations in all; ten times that with CUPOOL_TEST_LONG=1. RC_PARAMS="seed=..." repeats a run.
#include <rapidcheck.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/pool/heap/heap_driver.h"

namespace {

using cupool::pool::Engine;
using cupool::pool::Granules;
using cupool::pool::HeapConfig;
using cupool::pool::HeapDriver;

constexpr int kRecountEvery = 64;

struct Setting {
  const char* name;
  HeapConfig config;
};

HeapConfig config_of(Engine engine, bool slabs, std::uint64_t capacity, std::uint64_t handle) {
  HeapConfig config;
  config.capacity = Granules{capacity};
  config.handle = Granules{handle};
  config.engine = engine;
  config.slabs = slabs;
  // Small slabs that open at once, so that a short sequence meets them.
  config.slab = Granules{capacity == 512 ? 32U : 16U};
  config.slack_share = 1;
  config.region_share = 1;
  config.first_slab_after = 1;
  return config;
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"tlsf", config_of(Engine::tlsf, false, 512, 16)},
      {"tlsf, handles of one granule", config_of(Engine::tlsf, false, 200, 1)},
      {"tlsf with slabs", config_of(Engine::tlsf, true, 512, 64)},
      {"buddy", config_of(Engine::buddy, false, 512, 16)},
      {"buddy with slabs", config_of(Engine::buddy, true, 500, 32)},
  };
  return all;
}

std::uint64_t g_sequences = 0;
std::uint64_t g_operations = 0;
std::uint64_t g_with_slabs = 0;  // sequences in which slabs were seen

std::string first_fault(const HeapConfig& config, const std::vector<std::uint32_t>& operations) {
  HeapDriver driver(config);
  ++g_sequences;
  int until_recount = kRecountEvery;
  for (const std::uint32_t operation : operations) {
    ++g_operations;
    std::string fault = driver.play(operation);
    if (fault.empty() && --until_recount == 0) {
      fault = driver.recount();
      until_recount = kRecountEvery;
    }
    if (!fault.empty()) return fault + ", at: " + driver.describe(operation);
  }
  g_with_slabs += driver.saw_slabs() ? 1 : 0;
  std::string fault = driver.recount();
  return fault.empty() ? driver.drain() : fault;
}

bool check(const Setting& setting) {
  return rc::check(std::string("no sequence of calls tells ") + setting.name + " from the reference", [&setting] {
    const auto operations =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::resize(100, rc::gen::arbitrary<std::uint32_t>()));
    const std::string fault = first_fault(setting.config, operations);
    if (fault.empty()) return;
    HeapDriver names(setting.config);
    for (const std::uint32_t operation : operations) RC_LOG() << names.describe(operation) << '\n';
    RC_FAIL(fault);
  });
}

}  // namespace

int main() {
  const bool is_long = std::getenv("CUPOOL_TEST_LONG") != nullptr;
  const std::uint64_t sequences = is_long ? 100'000 : 10'000;
  const char* const given = std::getenv("RC_PARAMS");
  // Up to 840 operations a sequence, growing from none: 210 on average.
  const std::string parameters = "max_size=840 max_success=" + std::to_string(sequences) + " " + (given == nullptr ? "" : given);
  setenv("RC_PARAMS", parameters.c_str(), 1);
  bool good = true;
  for (const Setting& setting : settings()) good = check(setting) && good;
  std::printf("%lu sequences, %lu operations; slabs in %lu sequences\n", g_sequences, g_operations, g_with_slabs);
  // So that the test cannot shrink to nothing unnoticed.
  if (good && given == nullptr &&
      (g_sequences < 5 * sequences || g_operations < 1000 * sequences || g_with_slabs < sequences / 4)) {
    std::printf("too little was tried\n");
    return 1;
  }
  return good ? 0 : 1;
}
