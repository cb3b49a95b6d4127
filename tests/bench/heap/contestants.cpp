// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/arena_contestant.h"
#include "tests/bench/heap/contestant.h"
#include "tests/bench/heap/heap_contestant.h"
#include "tests/bench/heap/map_fit.h"
#include "tests/bench/heap/pytorch_cache.h"

namespace cupool::bench {

const std::vector<ContestantKind>& contestants() {
  static const std::vector<ContestantKind> all{
      {"tlsf", "ours, the default: segregated fit and slabs",
       [](std::uint64_t live) { return std::make_unique<HeapContestant>(pool::Engine::tlsf, true, live); }},
      {"tlsf_plain", "ours without slabs",
       [](std::uint64_t live) { return std::make_unique<HeapContestant>(pool::Engine::tlsf, false, live); }},
      {"buddy", "ours: buddy with tail return, and slabs",
       [](std::uint64_t live) { return std::make_unique<HeapContestant>(pool::Engine::buddy, true, live); }},
      {"arena", "ours, end to end: the default heap in an arena",
       [](std::uint64_t live) { return std::make_unique<ArenaContestant>(live); }},
      {"best_fit", "best fit in one arena, ordered maps", [](std::uint64_t) { return std::make_unique<BestFit>(); }},
      {"first_fit", "first fit in one arena, an ordered map", [](std::uint64_t) { return std::make_unique<FirstFit>(); }},
      {"pytorch", "PyTorch's caching policy", [](std::uint64_t) { return std::make_unique<PyTorchCache>(); }},
  };
  return all;
}

}  // namespace cupool::bench
