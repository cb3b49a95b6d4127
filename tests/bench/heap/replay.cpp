// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/replay.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/bench/heap/clock.h"

namespace cupool::bench {
namespace {

constexpr double kUnit = 128.0 * (1 << 20);

/// Costs what a contestant costs that does nothing: the loop and the call.
class Nothing final : public Contestant {
 public:
  Block take(std::uint64_t bytes) override { return Block{0, bytes, 0}; }
  void give_back(const Block& block) override { last_ = block.offset; }
  std::uint64_t range_in_use() const override { return last_; }

 private:
  std::uint64_t last_ = 0;
};

void play(const Ops& ops, Contestant& contestant, std::vector<Block>& blocks) {
  for (const Op& op : ops.list) {
    if (op.bytes != 0) {
      blocks[op.slot] = contestant.take(op.bytes);
    } else {
      contestant.give_back(blocks[op.slot]);
    }
  }
}

double fastest_pass(const Ops& ops, Contestant& contestant, std::vector<Block>& blocks, unsigned passes) {
  std::uint64_t fastest = ~std::uint64_t{0};
  for (unsigned pass = 0; pass < passes; ++pass) {
    const std::uint64_t start = ticks();
    play(ops, contestant, blocks);
    fastest = std::min(fastest, ticks() - start);
  }
  return static_cast<double>(fastest) * clock().ns_per_tick / static_cast<double>(ops.list.size());
}

double percentile(std::vector<std::uint32_t>& sorted, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return std::max(0.0, (static_cast<double>(sorted[at]) - clock().overhead_ticks) * clock().ns_per_tick);
}

void play_with_clock(const Ops& ops, Contestant& contestant, std::vector<Block>& blocks, std::vector<std::uint32_t>& times) {
  for (const Op& op : ops.list) {
    const std::uint64_t start = ticks();
    if (op.bytes != 0) {
      blocks[op.slot] = contestant.take(op.bytes);
    } else {
      contestant.give_back(blocks[op.slot]);
    }
    times.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks() - start, UINT32_MAX)));
  }
}

/// One more pass, in which what is not time is looked at.
void inspect(const Ops& ops, Contestant& contestant, std::vector<Block>& blocks, ReplayFigures& figures) {
  std::uint64_t count = 0, most = 0;
  double share = 0;
  for (std::size_t at = 0; at < ops.list.size(); ++at) {
    const Op& op = ops.list[at];
    if (op.bytes != 0) {
      blocks[op.slot] = contestant.take(op.bytes);
      ++count;
    } else {
      contestant.give_back(blocks[op.slot]);
      --count;
    }
    share += static_cast<double>(ops.live[at]) / static_cast<double>(contestant.range_in_use());
    if (count > most) {
      most = count;
      const auto metadata = static_cast<double>(contestant.metadata_bytes());
      const double units = std::ceil(static_cast<double>(contestant.range_in_use()) / kUnit);
      figures.metadata_bytes_per_block = metadata / static_cast<double>(count);
      figures.metadata_over_bar = metadata / (64 * static_cast<double>(count) + 0.001 * kUnit * units);
    }
  }
  figures.utilisation_average = share / static_cast<double>(ops.list.size());
}

}  // namespace

ReplayFigures replay(const Ops& ops, const ContestantKind& kind, unsigned passes) {
  passes = std::max(passes, 1U);
  std::vector<Block> blocks(ops.slots);
  ReplayFigures figures;
  Nothing nothing;
  const double loop = fastest_pass(ops, nothing, blocks, passes);
  const std::unique_ptr<Contestant> contestant = kind.make(ops.largest_live);
  figures.ns_per_op = std::max(0.0, fastest_pass(ops, *contestant, blocks, passes) - loop);
  std::vector<std::uint32_t> times;
  times.reserve(ops.list.size() * passes);
  for (unsigned pass = 0; pass < passes; ++pass) play_with_clock(ops, *contestant, blocks, times);
  std::sort(times.begin(), times.end());
  figures.p50_ns = percentile(times, 0.5);
  figures.p99_ns = percentile(times, 0.99);
  figures.p999_ns = percentile(times, 0.999);
  inspect(ops, *contestant, blocks, figures);
  figures.utilisation = static_cast<double>(ops.largest_live) / static_cast<double>(contestant->range_in_use());
  return figures;
}

HoleFigures pair_among_holes(const ContestantKind& kind, std::uint64_t holes) {
  const std::unique_ptr<Contestant> contestant = kind.make(holes * 128 * kAlignment);
  std::mt19937_64 random(7);
  const auto any_size = [&random] { return kAlignment * (1 + random() % 64); };
  // Every second block is freed: that many holes, of random lengths, in random order.
  std::vector<Block> kept, freed;
  for (std::uint64_t hole = 0; hole < holes; ++hole) {
    freed.push_back(contestant->take(any_size()));
    kept.push_back(contestant->take(any_size()));
  }
  std::shuffle(freed.begin(), freed.end(), random);
  for (const Block& block : freed) contestant->give_back(block);

  constexpr std::size_t kPairs = 20000;
  constexpr int kRounds = 5;
  std::vector<std::uint64_t> sizes(kPairs);
  for (std::uint64_t& bytes : sizes) bytes = any_size();
  double fastest = 0;
  std::vector<std::uint32_t> times;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = ticks();
    for (const std::uint64_t bytes : sizes) {
      const std::uint64_t before = ticks();
      contestant->give_back(contestant->take(bytes));
      times.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks() - before, UINT32_MAX)));
    }
    const double total = static_cast<double>(ticks() - start) / kPairs - clock().overhead_ticks;
    if (round == 0 || total < fastest) fastest = total;
  }
  std::sort(times.begin(), times.end());
  return HoleFigures{holes, std::max(0.0, fastest * clock().ns_per_tick), percentile(times, 0.99),
                     static_cast<double>(contestant->metadata_bytes()) / static_cast<double>(kept.size())};
}

}  // namespace cupool::bench
