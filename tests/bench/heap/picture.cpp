// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <vector>

namespace cupool::bench {
namespace {

constexpr double kWidth = 1200;
constexpr double kHeight = 700;
constexpr double kMargin = 40;

struct Bar {
  Block block;
  std::uint64_t bytes;
  std::size_t from;
  std::size_t to;
};

/// From blue for a kibibyte to red for a gibibyte and more.
std::string colour(std::uint64_t bytes) {
  const double octave = std::clamp(static_cast<double>(std::bit_width(bytes)) - 10.0, 0.0, 20.0);
  return fmt::format("hsl({:.0f},65%,55%)", 230.0 - 230.0 * octave / 20.0);
}

std::vector<Bar> bars_of(const Ops& ops, Contestant& contestant) {
  std::vector<Bar> bars;
  std::vector<std::size_t> bar_of_slot(ops.slots);
  for (std::size_t at = 0; at < ops.list.size(); ++at) {
    const Op& op = ops.list[at];
    if (op.bytes != 0) {
      bar_of_slot[op.slot] = bars.size();
      bars.push_back(Bar{contestant.take(op.bytes), op.bytes, at, ops.list.size()});
    } else {
      Bar& bar = bars[bar_of_slot[op.slot]];
      contestant.give_back(bar.block);
      bar.to = at;
    }
  }
  return bars;
}

}  // namespace

bool draw(const Ops& ops, const ContestantKind& kind, const std::string& file) {
  const std::unique_ptr<Contestant> contestant = kind.make(ops.largest_live);
  const std::vector<Bar> bars = bars_of(ops, *contestant);
  const double range = static_cast<double>(contestant->range_in_use());
  const double events = static_cast<double>(ops.list.size());
  std::ofstream out(file);
  out << fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' font-size='12'>\n",
                     kWidth + 2 * kMargin, kHeight + 2 * kMargin);
  out << fmt::format("<rect x='{0}' y='{0}' width='{1}' height='{2}' fill='#f4f4f4'/>\n", kMargin, kWidth, kHeight);
  for (const Bar& bar : bars) {
    const double height = static_cast<double>(bar.bytes) / range * kHeight;
    if (height < 0.2) continue;
    const double top = kMargin + kHeight - static_cast<double>(bar.block.offset) / range * kHeight - height;
    out << fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'/>\n",
                       kMargin + static_cast<double>(bar.from) / events * kWidth, top,
                       static_cast<double>(bar.to - bar.from) / events * kWidth, height, colour(bar.bytes));
  }
  out << fmt::format("<text x='{}' y='{}'>{} on {}: {:.2f} GiB of address space, {} events</text>\n</svg>\n", kMargin, kMargin - 12,
                     kind.name, ops.name, range / 1073741824.0, ops.list.size());
  return out.good();
}

}  // namespace cupool::bench
