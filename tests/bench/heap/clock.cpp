// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/clock.h"

#include <algorithm>
#include <vector>

namespace cupool::bench {
namespace {

Clock calibrate() {
  using std::chrono::steady_clock;
  const auto from = steady_clock::now();
  const std::uint64_t first = ticks();
  while (steady_clock::now() - from < std::chrono::milliseconds(20)) continue;
  const std::uint64_t last = ticks();
  const double ns = std::chrono::duration<double, std::nano>(steady_clock::now() - from).count();
  std::vector<std::uint64_t> readings(1001);
  for (std::uint64_t& reading : readings) {
    const std::uint64_t start = ticks();
    reading = ticks() - start;
  }
  std::nth_element(readings.begin(), readings.begin() + 500, readings.end());
  return Clock{ns / static_cast<double>(last - first), static_cast<double>(readings[500])};
}

}  // namespace

const Clock& clock() {
  static const Clock calibrated = calibrate();
  return calibrated;
}

}  // namespace cupool::bench
