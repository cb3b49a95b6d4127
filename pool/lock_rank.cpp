// SPDX-License-Identifier: Apache-2.0
#include "pool/lock_rank.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace cupool::pool {
namespace {

[[noreturn]] void abort_on_fault(LockRank held, LockRank wanted) {
  std::fprintf(stderr, "cupool: lock of rank %d wanted while rank %d is held\n", static_cast<int>(wanted), static_cast<int>(held));
  std::abort();
}

std::atomic<RankFault> g_handler{&abort_on_fault};

/// Strictly rising, so the last entry is the highest.
struct HeldRanks {
  std::array<LockRank, 8> ranks{};
  std::size_t count = 0;
};
thread_local HeldRanks t_held;

}  // namespace

RankFault set_rank_fault_handler(RankFault handler) {
  return g_handler.exchange(handler == nullptr ? &abort_on_fault : handler);
}

namespace detail {

void rank_enter(LockRank rank) {
  if (t_held.count != 0 && t_held.ranks[t_held.count - 1] >= rank) g_handler.load()(t_held.ranks[t_held.count - 1], rank);
  if (t_held.count < t_held.ranks.size()) t_held.ranks[t_held.count++] = rank;
}

void rank_leave(LockRank rank) {
  // Locks are not always released in reverse order: take the entry out wherever it stands.
  for (std::size_t i = t_held.count; i-- > 0;) {
    if (t_held.ranks[i] != rank) continue;
    for (std::size_t j = i + 1; j < t_held.count; ++j) t_held.ranks[j - 1] = t_held.ranks[j];
    --t_held.count;
    return;
  }
}

bool rank_is_held(LockRank rank) {
  for (std::size_t i = 0; i < t_held.count; ++i) {
    if (t_held.ranks[i] == rank) return true;
  }
  return false;
}

}  // namespace detail
}  // namespace cupool::pool
