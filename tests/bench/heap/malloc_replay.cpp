// SPDX-License-Identifier: Apache-2.0
//
// malloc_replay TRACE PASSES: plays a trace on whatever malloc the process has (heap_bench starts it with LD_PRELOAD) and prints
// "ns_per_op p50 p99 p999". Sizes are divided by 512: one byte stands for a granule, so that the figures tell what the allocator's
// own decisions cost, not what mapping gigabytes costs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/bench/heap/clock.h"
#include "tests/bench/heap/ops.h"

namespace {

using BenchClock = cupool::bench::Clock;
using cupool::bench::Op;
using cupool::bench::Ops;
using cupool::bench::ticks;

void step(const Op& op, std::vector<void*>& blocks) {
  if (op.bytes != 0) {
    blocks[op.slot] = std::malloc(op.bytes / 512);
  } else {
    std::free(blocks[op.slot]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: malloc_replay TRACE PASSES\n");
    return 2;
  }
  const BenchClock& bench_clock = cupool::bench::clock();
  const Ops ops = cupool::bench::read_ops(argv[1]);
  const unsigned passes = static_cast<unsigned>(std::max(1, std::atoi(argv[2])));
  std::vector<void*> blocks(ops.slots);
  std::vector<std::uint64_t> times;
  times.reserve(ops.list.size() * passes);
  std::uint64_t fastest = ~std::uint64_t{0};
  for (unsigned pass = 0; pass < passes; ++pass) {
    const std::uint64_t start = ticks();
    for (const Op& op : ops.list) step(op, blocks);
    fastest = std::min(fastest, ticks() - start);
  }
  for (unsigned pass = 0; pass < passes; ++pass) {
    for (const Op& op : ops.list) {
      const std::uint64_t start = ticks();
      step(op, blocks);
      times.push_back(ticks() - start);
    }
  }
  std::sort(times.begin(), times.end());
  const auto at = [&times, &bench_clock](double share) {
    const double reading = static_cast<double>(times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
    return std::max(0.0, (reading - bench_clock.overhead_ticks) * bench_clock.ns_per_tick);
  };
  std::printf("%.2f %.2f %.2f %.2f\n",
              static_cast<double>(fastest) * bench_clock.ns_per_tick / static_cast<double>(ops.list.size()), at(0.5), at(0.99),
              at(0.999));
  return 0;
}
