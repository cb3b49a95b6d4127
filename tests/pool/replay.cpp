// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/replay.h"

#include <algorithm>
#include <unordered_map>

#include "tests/support/fake_backing.h"

namespace cupool::pool::replay {

Script make_script(const std::vector<TraceEvent>& events) {
  Script script;
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint64_t>> live;
  std::vector<std::uint32_t> free;
  std::uint64_t sum = 0;
  for (const TraceEvent& event : events) {
    if (event.kind == TraceEvent::Kind::allocate) {
      if (free.empty()) free.push_back(script.slots++);
      const std::uint64_t size = *round_up(event.size.count, 512);
      script.steps.push_back({free.back(), event.size.count});
      live[event.id] = {free.back(), size};
      free.pop_back();
      sum += size;
      script.peak_live = std::max(script.peak_live, sum);
    } else {
      const auto [slot, size] = live[event.id];
      script.steps.push_back({slot, 0});
      live.erase(event.id);
      free.push_back(slot);
      sum -= size;
    }
  }
  return script;
}

namespace {

struct Sample {
  std::uint64_t live, held;
};

double at_troughs(std::vector<Sample>& samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.live < b.live; });
  double live = 0, held = 0;
  for (std::size_t i = 0; i <= samples.size() / 2; ++i) {
    live += static_cast<double>(samples[i].live);
    held += static_cast<double>(samples[i].held);
  }
  return live == 0 ? 0 : held / live;
}

}  // namespace

Outcome run(const Script& script, const Setup& setup) {
  fakes::CountingBacking backing;
  LimitedUnits units(Units{setup.handles});
  ArenaConfig config;
  config.shape = UnitShape{setup.handle, setup.handle};
  config.range = setup.handle * setup.handles * 4;
  config.engine = setup.engine;
  config.slabs = setup.slabs;
  const auto arena = Arena::create(config, backing, units, nullptr).value();
  std::vector<Address> at(script.slots);
  std::vector<char> is_live(script.slots, 0);
  Outcome outcome;
  std::vector<Sample> samples;
  const std::size_t stride = std::max<std::size_t>(1, script.steps.size() / 400);
  for (int pass = 0; pass < setup.passes; ++pass) {
    for (std::size_t i = 0; i < script.steps.size(); ++i) {
      const Script::Step& step = script.steps[i];
      if (step.size == 0) {
        static_cast<void>(arena->give_back(at[step.slot], {}));
        is_live[step.slot] = 0;
      } else {
        const auto block = arena->take(Request{DeviceId{0}, Bytes{step.size}, {}, {}, {}});
        if (!block) return outcome;
        at[step.slot] = block->base;
        is_live[step.slot] = 1;
      }
      if (pass + 1 != setup.passes || i % stride != 0) continue;
      const ArenaStats stats = arena->stats();
      const std::uint64_t held = (stats.mapped_handles - stats.free_handles) * setup.handle.count;
      if (stats.live.count != 0) samples.push_back({stats.live.count, held});
    }
    for (std::uint32_t slot = 0; slot < script.slots; ++slot) {
      if (is_live[slot] != 0) static_cast<void>(arena->give_back(at[slot], {}));
      is_live[slot] = 0;
    }
    if (setup.settles) arena->settle();
  }
  const ArenaStats stats = arena->stats();
  outcome.fits = true;
  outcome.moved = stats.counters.handles_moved;
  outcome.created = stats.counters.handles_created;
  outcome.driver_calls = stats.counters.backing_calls;
  outcome.span = stats.address_span.count;
  outcome.held_over_live = at_troughs(samples);
  return outcome;
}

std::uint64_t smallest_capacity(const Script& script, Setup setup) {
  std::uint64_t low = (script.peak_live + setup.handle.count - 1) / setup.handle.count;
  // Nearly everything fits within a few per cent: look close to the floor first.
  std::uint64_t step = std::max<std::uint64_t>(1, low / 256), high = low;
  while (true) {
    setup.handles = high;
    if (run(script, setup).fits) break;
    low = high + 1;
    high += step;
    step *= 2;
  }
  while (low < high) {
    setup.handles = low + (high - low) / 2;
    if (run(script, setup).fits) {
      high = setup.handles;
    } else {
      low = setup.handles + 1;
    }
  }
  return high;
}

}  // namespace cupool::pool::replay
