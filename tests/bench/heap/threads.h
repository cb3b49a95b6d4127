// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/heap/contestant.h"

namespace cupool::bench {

struct ThreadFigures {
  unsigned threads = 0;
  double million_ops_per_second = 0;  ///< of all threads together
  double foreign_frees = 0;           ///< share of blocks that another thread freed than took them
};

/// A storm of blocks of 512 bytes to 1 MiB by several threads on one contestant, behind one mutex unless it has its own. Half
/// of the blocks are freed by the next thread.
ThreadFigures storm(const ContestantKind& kind, unsigned threads);

}  // namespace cupool::bench
