// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/arena_figures.h"

#include <algorithm>

#include "pool/arena.h"
#include "tests/pool/replay.h"
#include "tests/support/fake_backing.h"

namespace cupool::bench {
namespace {

using pool::fakes::CallCounts;

/// Virtual time of driver calls in microseconds: published figures for 2 MiB handles on an A100 (vAttention, table 3); what
/// creating costs per MiB follows from the ratio of 2 MiB to 128 MiB handles in GMLake's table 1. To be replaced by measurements.
struct DriverCosts {
  double create = 29;
  double create_per_mib = 0.5;
  double map_per_handle = 2;
  double set_access = 38;  // with each map call
  double unmap = 34;
  double release = 23;
};

double virtual_ms(const CallCounts& counts, std::uint64_t handle_mib) {
  const DriverCosts costs;
  const auto times = [](std::uint64_t count, double us) { return static_cast<double>(count) * us; };
  return (times(counts.create, costs.create + costs.create_per_mib * static_cast<double>(handle_mib)) +
          times(counts.handles_mapped, costs.map_per_handle) + times(counts.map, costs.set_access) +
          times(counts.unmap, costs.unmap) + times(counts.release, costs.release)) /
         1000;
}

pool::replay::Script script_of(const Ops& ops) {
  pool::replay::Script script;
  script.slots = ops.slots;
  script.peak_live = ops.largest_live;
  script.steps.reserve(ops.list.size());
  for (const Op& op : ops.list) script.steps.push_back({op.slot, op.bytes});
  return script;
}

/// The smallest number of handles at which nothing is refused although nothing was moved.
std::uint64_t smallest_without_moving(const pool::replay::Script& script, pool::replay::Setup setup, std::uint64_t low) {
  const auto fits_at = [&](std::uint64_t handles) {
    setup.handles = handles;
    const pool::replay::Outcome outcome = pool::replay::run(script, setup);
    return outcome.fits && outcome.moved == 0;
  };
  std::uint64_t step = std::max<std::uint64_t>(1, low / 64);
  std::uint64_t high = low;
  while (!fits_at(high)) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fits_at(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

void find_capacities(const pool::replay::Script& script, std::uint64_t handle_mib, ArenaFigures& figures) {
  pool::replay::Setup setup;
  setup.handle = Bytes{handle_mib << 20};
  const auto over_live = [&](std::uint64_t handles) {
    return static_cast<double>(handles * setup.handle.count) / static_cast<double>(script.peak_live);
  };
  setup.handles = pool::replay::smallest_capacity(script, setup);
  figures.capacity_over_live = over_live(setup.handles);
  figures.handles_moved = pool::replay::run(script, setup).moved;
  figures.capacity_without_moving = over_live(smallest_without_moving(script, setup, setup.handles));
}

/// Three passes with room enough, in units of 128 MiB as a process leases them.
void play_with_room(const Ops& ops, std::uint64_t handle_mib, ArenaFigures& figures) {
  constexpr int kPasses = 3;
  pool::fakes::CountingBacking backing;
  pool::ArenaConfig config;
  config.shape = pool::UnitShape{Bytes{128 * kMiB.count}, Bytes{handle_mib << 20}};
  pool::LimitedUnits units(Units{2 * units_covering(Bytes{ops.largest_live}, config.shape.unit).count + 4});
  config.range = config.shape.unit * (4 * units.limit().count);
  const auto arena = pool::Arena::create(config, backing, units, nullptr).value();

  std::vector<std::uint64_t> sorted = ops.live;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const std::uint64_t median = sorted[sorted.size() / 2];
  const std::size_t stride = std::max<std::size_t>(1, ops.list.size() / 400);
  std::vector<pool::Address> blocks(ops.slots);
  double held = 0, live = 0;
  std::uint64_t calls_before = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    calls_before = backing.counts().total();
    for (std::size_t at = 0; at < ops.list.size(); ++at) {
      const Op& op = ops.list[at];
      if (op.bytes != 0) {
        blocks[op.slot] = arena->take(pool::Request{{}, Bytes{op.bytes}, {}, {}, {}}).value().base;
      } else {
        static_cast<void>(arena->give_back(blocks[op.slot], {}));
      }
      if (pass + 1 != kPasses || at % stride != 0 || ops.live[at] > median) continue;
      const pool::ArenaStats stats = arena->stats();
      held += static_cast<double>((stats.mapped_handles - stats.free_handles) * config.shape.handle.count);
      live += static_cast<double>(ops.live[at]);
    }
  }
  const pool::ArenaStats stats = arena->stats();
  figures.held_over_live = live == 0 ? 0 : held / live;
  figures.driver_calls = backing.counts().total();
  figures.driver_calls_of_last_pass = backing.counts().total() - calls_before;
  figures.virtual_driver_ms = virtual_ms(backing.counts(), handle_mib);
  figures.range_over_live = static_cast<double>(stats.address_span.count) / static_cast<double>(ops.largest_live);
  figures.leased_beyond_range = stats.leased.count - std::min(stats.leased.count, stats.address_span.count);
}

}  // namespace

std::vector<ArenaFigures> arena_figures(const Ops& ops) {
  const pool::replay::Script script = script_of(ops);
  std::vector<ArenaFigures> all;
  for (const std::uint64_t handle_mib : {2, 8, 32, 128}) {
    ArenaFigures figures;
    figures.handle_mib = handle_mib;
    find_capacities(script, handle_mib, figures);
    play_with_room(ops, handle_mib, figures);
    all.push_back(figures);
  }
  return all;
}

}  // namespace cupool::bench
