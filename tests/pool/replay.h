// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pool/arena.h"
#include "pool/trace.h"

namespace cupool::pool::replay {

/// A trace with its IDs made dense, so that replaying it costs no look-ups.
struct Script {
  struct Step {
    std::uint32_t slot = 0;
    std::uint64_t size = 0;  ///< 0: free
  };
  std::vector<Step> steps;
  std::uint32_t slots = 0;
  std::uint64_t peak_live = 0;  ///< largest sum of live bytes, each rounded up to 512
};
Script make_script(const std::vector<TraceEvent>& events);

struct Setup {
  Bytes handle{8 * kMiB.count};
  std::uint64_t handles = 0;  ///< the limit; a unit is one handle, so that the limit is exact
  int passes = 2;
  Engine engine = Engine::tlsf;
  bool slabs = true;
  bool settles = false;  ///< a period ends with each pass
};

struct Outcome {
  bool fits = false;  ///< no request was refused
  std::uint64_t moved = 0, created = 0, driver_calls = 0;
  std::uint64_t span = 0;
  /// On the last pass, at samples with at most median live bytes: bytes of handles that are not free, over live bytes.
  double held_over_live = 0;
};
/// Replays the script over an arena whose backing only counts. Stops at the first refusal. Live blocks are freed after each pass.
Outcome run(const Script& script, const Setup& setup);

/// The smallest number of handles at which the script fits.
std::uint64_t smallest_capacity(const Script& script, Setup setup);

}  // namespace cupool::pool::replay
