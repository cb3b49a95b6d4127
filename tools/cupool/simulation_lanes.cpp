// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/simulation_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace cupool::tool {
namespace {

using policy::Instant;
using policy::Sample;

const char* bar(std::uint64_t part, std::uint64_t whole) {
  static constexpr std::array<const char*, 9> kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (part == 0 || whole == 0) return kBars[0];
  return kBars[std::clamp<std::size_t>(static_cast<std::size_t>(static_cast<double>(part) / static_cast<double>(whole) * 8 + 0.5),
                                       1, 8)];
}

/// Which cells a stretch of time touches: the first and the last.
std::pair<std::size_t, std::size_t> cells_of(Instant from, Instant to, Instant end, std::size_t cells) {
  const auto cell = [&](Instant at) {
    return std::min(cells - 1,
                    static_cast<std::size_t>(static_cast<double>(at.ns) / static_cast<double>(std::max<std::uint64_t>(1, end.ns)) *
                                             static_cast<double>(cells)));
  };
  return {cell(from), cell(to.ns > from.ns ? Instant{to.ns - 1} : from)};
}

struct Cell {
  int urgency = 0;  ///< of the state shown
  Sample::State state = Sample::State::absent;
  std::uint64_t held = 0;
};

int urgency_of(Sample::State state) {
  switch (state) {
    case Sample::State::absent:
      return 0;
    case Sample::State::runs:
      return 1;
    case Sample::State::arriving:
      return 2;
    case Sample::State::waits:
      return 3;
    case Sample::State::parked:
      return 4;
  }
  return 0;
}

}  // namespace

std::string job_lane(const policy::History& history, std::uint32_t job, std::size_t cells) {
  const policy::JobHistory& own = history.jobs[job];
  std::vector<Cell> lane(cells);
  for (std::size_t i = 0; i < own.samples.size(); ++i) {
    const Sample& sample = own.samples[i];
    const Instant until = i + 1 < own.samples.size() ? own.samples[i + 1].at : history.end;
    if (until.ns <= sample.at.ns && sample.state == Sample::State::waits) continue;  // asked and granted at one instant
    const auto [first, last] = cells_of(sample.at, until, history.end, cells);
    for (std::size_t cell = first; cell <= last; ++cell) {
      lane[cell].held = std::max(lane[cell].held, sample.held.count);
      if (urgency_of(sample.state) <= lane[cell].urgency) continue;
      lane[cell].urgency = urgency_of(sample.state);
      lane[cell].state = sample.state;
    }
  }
  std::string out;
  for (const Cell& cell : lane) {
    switch (cell.state) {
      case Sample::State::arriving:
        out += '.';
        break;
      case Sample::State::waits:
        out += 'w';
        break;
      case Sample::State::parked:
        out += 'p';
        break;
      default:
        out += bar(cell.held, own.peak.count);
    }
  }
  return out;
}

std::string pool_lane(const policy::History& history, Units capacity, std::size_t cells) {
  std::map<Instant, std::int64_t> changes;
  for (const policy::JobHistory& job : history.jobs) {
    std::int64_t before = 0;
    for (const Sample& sample : job.samples) {
      const auto held = static_cast<std::int64_t>(sample.held.count);
      changes[sample.at] += held - before;
      before = held;
    }
  }
  std::vector<std::uint64_t> most(cells);
  std::int64_t sum = 0;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    sum += at->second;
    const auto next = std::next(at);
    const auto [first, last] = cells_of(at->first, next == changes.end() ? history.end : next->first, history.end, cells);
    for (std::size_t cell = first; cell <= last; ++cell) most[cell] = std::max(most[cell], static_cast<std::uint64_t>(sum));
  }
  std::string out;
  for (const std::uint64_t held : most) out += bar(held, capacity.count);
  return out;
}

}  // namespace cupool::tool
