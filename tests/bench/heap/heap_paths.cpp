// SPDX-License-Identifier: Apache-2.0
//
// heap_paths PATH COUNT: walks one hot path of the heap COUNT times, for instructions.py to count instructions in. What is counted
// is what runs inside the function `counted`; everything is seeded, so that two runs execute the same instructions.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/bench/heap/heap_contestant.h"

namespace {

using cupool::bench::Block;
using cupool::bench::Contestant;
using cupool::bench::HeapContestant;
using cupool::bench::kAlignment;
using cupool::pool::Engine;

constexpr std::uint64_t kLive = std::uint64_t{1} << 34;

/// A plan of calls: takes a block into a slot (freeing what was there), of these lengths, in this order.
struct Plan {
  std::vector<std::uint32_t> slots;
  std::vector<std::uint64_t> bytes;
};

/// Called by name from instructions.py: keep it one function.
__attribute__((noinline)) void counted(Contestant& heap, std::vector<Block>& blocks, const Plan& plan) {
  for (std::size_t at = 0; at < plan.slots.size(); ++at) {
    Block& block = blocks[plan.slots[at]];
    heap.give_back(block);
    block = heap.take(plan.bytes[at]);
  }
}

struct Path {
  const char* name;
  Engine engine;
  bool slabs;
  std::uint64_t largest;  // bytes of a block, at most
};
constexpr Path kPaths[] = {
    {"tlsf_large", Engine::tlsf, true, std::uint64_t{64} << 20},
    {"tlsf_small", Engine::tlsf, false, std::uint64_t{64} << 10},
    {"slab", Engine::tlsf, true, 4096},
    {"buddy_large", Engine::buddy, true, std::uint64_t{64} << 20},
};

Plan plan_of(const Path& path, std::size_t slots, std::size_t count) {
  std::mt19937_64 random(11);
  Plan plan;
  for (std::size_t at = 0; at < slots + count; ++at) {
    plan.slots.push_back(static_cast<std::uint32_t>(at < slots ? at : random() % slots));
    plan.bytes.push_back(kAlignment * (1 + random() % (path.largest / kAlignment)));
  }
  return plan;
}

int run(const Path& path, std::size_t count) {
  constexpr std::size_t kSlots = 20000;
  const std::size_t slots = std::string(path.name).ends_with("large") ? 200 : kSlots;
  HeapContestant heap(path.engine, path.slabs, kLive);
  const Block ballast = heap.take(kLive / 2);  // so that slabs are affordable
  Plan plan = plan_of(path, slots, count);
  std::vector<Block> blocks(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) blocks[slot] = heap.take(plan.bytes[slot]);
  plan.slots.erase(plan.slots.begin(), plan.slots.begin() + static_cast<std::ptrdiff_t>(slots));
  plan.bytes.erase(plan.bytes.begin(), plan.bytes.begin() + static_cast<std::ptrdiff_t>(slots));
  counted(heap, blocks, plan);
  heap.give_back(ballast);
  return heap.heap().is_consistent() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc == 3 ? argv[1] : "";
  for (const Path& path : kPaths) {
    if (wanted == path.name) return run(path, static_cast<std::size_t>(std::atoll(argv[2])));
  }
  std::fprintf(stderr, "usage: heap_paths PATH COUNT, where PATH is one of:");
  for (const Path& path : kPaths) std::fprintf(stderr, " %s", path.name);
  std::fprintf(stderr, "\n");
  return 2;
}
