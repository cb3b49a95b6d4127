// SPDX-License-Identifier: Apache-2.0
//
// arena_bench TRACE...: what the arena adds to its heap. For each trace, nanoseconds per operation (best of several passes) of the
// bare heap, of the arena with immediate frees, with frees that wait for all work, and with frees in one stream's order; and
// look-ups of exact and interior addresses among many blocks. Prints JSON; judges nothing: compare within one run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "pool/address_map.h"
#include "tests/pool/replay.h"
#include "tests/support/fake_backing.h"

using namespace cupool;
using namespace cupool::pool;

namespace {

constexpr int kPasses = 7;
constexpr StreamId kStream{1};

/// All work is done as soon as it is asked about.
class InstantCompletions final : public Completions {
 public:
  Result<Token> mark(FreeAfter) override { return Token{1}; }
  bool is_done(Token) override { return true; }
  Result<Done> wait(Token) override { return Done{}; }
  void forget(Token) override {}
};

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Take, class Give>
double best_pass(const replay::Script& script, Take take, Give give) {
  double best = 1e18;
  std::vector<char> is_live(script.slots, 0);
  for (int pass = 0; pass < kPasses; ++pass) {
    const double begin = now_ns();
    for (const replay::Script::Step& step : script.steps) {
      if (step.size != 0) {
        take(step.slot, step.size);
        is_live[step.slot] = 1;
      } else {
        give(step.slot);
        is_live[step.slot] = 0;
      }
    }
    best = std::min(best, (now_ns() - begin) / static_cast<double>(script.steps.size()));
    for (std::uint32_t slot = 0; slot < script.slots; ++slot) {
      if (is_live[slot] != 0) give(slot);
      is_live[slot] = 0;
    }
  }
  return best;
}

double heap_ns(const replay::Script& script) {
  const Granules handle{(8 << 20) / 512};
  const std::uint64_t handles = script.peak_live / (8 << 20) * 5 / 4 + 8;
  auto heap = make_heap(HeapConfig{.capacity = Granules{handles * handle.count}, .handle = handle}).value();
  static_cast<void>(heap->grow(Run{Granules{0}, Granules{handles * handle.count}}));
  std::vector<Taken> taken(script.slots);
  return best_pass(
      script,
      [&](std::uint32_t slot, std::uint64_t size) { taken[slot] = heap->take(Granules{(size + 511) / 512}, Granules{1}).value(); },
      [&](std::uint32_t slot) { static_cast<void>(heap->give_back(taken[slot])); });
}

double arena_ns(const replay::Script& script, FreeAfter after) {
  fakes::CountingBacking backing;
  LimitedUnits units(Units{script.peak_live / (128 << 20) * 2 + 8});
  InstantCompletions completions;
  ArenaConfig config;
  config.range = config.shape.unit * units.limit().count * 4;
  const auto arena = Arena::create(config, backing, units, &completions).value();
  std::vector<Address> at(script.slots);
  const StreamOrder order{kStream, kEveryFree};
  const std::span<const StreamOrder> orders(&order, after.kind == FreeAfter::Kind::stream ? 1 : 0);
  return best_pass(
      script,
      [&](std::uint32_t slot, std::uint64_t size) {
        at[slot] = arena->take(Request{DeviceId{0}, Bytes{size}, {}, orders, {}}).value().base;
      },
      [&](std::uint32_t slot) { static_cast<void>(arena->give_back(at[slot], after)); });
}

/// Nanoseconds per look-up among `blocks` blocks of 256 KiB to 64 MiB, at random addresses inside them.
double look_up_ns(std::uint64_t blocks, bool interior) {
  AddressMap map;
  std::mt19937_64 random(1);
  std::vector<Address> at;
  std::uint64_t next = std::uint64_t{1} << 44;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t size = (std::uint64_t{256} << 10) << (random() % 8);
    static_cast<void>(
        map.insert(AddressMap::Record{Block{Address{next}, Bytes{size}, Bytes{size}, BlockIdentity{i + 1}, {}, {}}, 0}));
    at.push_back(Address{next + (interior ? random() % size : 0)});
    next += size + (random() % 3) * 512;
  }
  std::shuffle(at.begin(), at.end(), random);
  double best = 1e18;
  std::uint64_t sum = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double begin = now_ns();
    for (const Address address : at) {
      const auto* record = interior ? map.find(address) : map.find_exact(address);
      sum += static_cast<std::uint64_t>(record->block.identity);
    }
    best = std::min(best, (now_ns() - begin) / static_cast<double>(at.size()));
  }
  return sum == 0 ? 0 : best;
}

}  // namespace

int main(int count, char** arguments) {
  std::printf("{\"traces\": [");
  for (int i = 1; i < count; ++i) {
    const auto events = read_trace(arguments[i]);
    if (!events) {
      std::fprintf(stderr, "%s: %s\n", events.error().place.c_str(), events.error().text.c_str());
      return 1;
    }
    const replay::Script script = replay::make_script(*events);
    std::string name = arguments[i];
    name = name.substr(name.rfind('/') + 1);
    std::printf(
        "%s\n {\"trace\": \"%s\", \"heap_ns\": %.1f, \"arena_ns\": %.1f, \"arena_deferred_ns\": %.1f, \"arena_stream_ns\": %.1f}",
        i > 1 ? "," : "", name.c_str(), heap_ns(script), arena_ns(script, {}), arena_ns(script, {FreeAfter::Kind::all, {}}),
        arena_ns(script, {FreeAfter::Kind::stream, kStream}));
  }
  std::printf("\n],\n\"look_up_ns\": {");
  const char* comma = "";
  for (const std::uint64_t blocks : {1000ULL, 30000ULL, 300000ULL}) {
    if (std::getenv("ARENA_BENCH_NO_LOOK_UP") != nullptr) break;
    std::printf("%s\"%llu\": {\"exact\": %.1f, \"interior\": %.1f}", comma, static_cast<unsigned long long>(blocks),
                look_up_ns(blocks, false), look_up_ns(blocks, true));
    comma = ", ";
  }
  std::printf("}}\n");
  return 0;
}
