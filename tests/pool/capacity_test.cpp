// SPDX-License-Identifier: Apache-2.0
//
// capacity_test TRACE...: holds the arena to its bars on every trace, by what a replay needs, not by time.
#include <cstdio>
#include <string>

#include "tests/pool/replay.h"

using namespace cupool;
using namespace cupool::pool;

namespace {

/// The smallest capacity without a refusal over the largest live sum; held over live at the troughs.
struct Bar {
  std::uint64_t handle_mib;
  double capacity_over_live;
  double held_over_live;
};
constexpr Bar kBars[] = {{2, 1.015, 1.25}, {8, 1.025, 1.25}};

/// The number of bars missed.
int judge(const std::string& name, const replay::Script& script, const Bar& bar) {
  replay::Setup setup;
  setup.handle = Bytes{bar.handle_mib << 20};
  setup.handles = replay::smallest_capacity(script, setup);
  const auto capacity = static_cast<double>(setup.handles * setup.handle.count) / static_cast<double>(script.peak_live);
  setup.handles *= 2;
  // A layout needs some passes to find its places: lora-1.3b maps its last handle in the fifth.
  setup.passes = 6;
  const replay::Outcome roomy = replay::run(script, setup);
  setup.passes = 12;
  const std::uint64_t later = replay::run(script, setup).driver_calls - roomy.driver_calls;
  setup.settles = true;
  setup.passes = 12;
  const std::uint64_t settled = replay::run(script, setup).driver_calls;
  setup.passes = 15;
  const std::uint64_t after_settling = replay::run(script, setup).driver_calls - settled;
  std::printf("%-28s %3llu MiB: capacity/live %.4f, held/live %.4f, driver calls %llu in six passes, %llu in six more\n",
              name.c_str(), static_cast<unsigned long long>(bar.handle_mib), capacity, roomy.held_over_live,
              static_cast<unsigned long long>(roomy.driver_calls), static_cast<unsigned long long>(later));
  int missed = 0;
  const auto miss = [&](bool is_missed, const char* what) {
    if (is_missed) std::printf("FAILED: %s: %s\n", name.c_str(), what);
    missed += is_missed ? 1 : 0;
  };
  miss(capacity > bar.capacity_over_live, "the capacity over live is above its bar");
  miss(roomy.held_over_live > bar.held_over_live, "held over live at the troughs is above its bar");
  miss(later != 0, "a steady loop calls the driver");
  miss(after_settling != 0, "a steady loop calls the driver when periods end in it");
  return missed;
}

}  // namespace

int main(int count, char** arguments) {
  int missed = 0;
  for (int i = 1; i < count; ++i) {
    const auto events = read_trace(arguments[i]);
    if (!events) {
      std::printf("FAILED: %s: %s\n", events.error().place.c_str(), events.error().text.c_str());
      ++missed;
      continue;
    }
    const replay::Script script = replay::make_script(*events);
    const std::string path = arguments[i];
    for (const Bar& bar : kBars) missed += judge(path.substr(path.rfind('/') + 1), script, bar);
  }
  std::printf("%d traces, %d bars missed\n", count - 1, missed);
  return missed == 0 && count > 1 ? 0 : 1;
}
