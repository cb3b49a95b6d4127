// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/heap/ops.h"

namespace cupool::bench {

/// A general-purpose allocator as a reference for latency, in a process of its own.
struct Reference {
  std::string name;
  std::string library;  ///< file name, as the loader finds it
  std::string package;  ///< of Debian
};
const std::vector<Reference>& references();

struct ReferenceFigures {
  double ns_per_op = 0;
  double p50_ns = 0;
  double p99_ns = 0;
  double p999_ns = 0;
};

/// Runs the program malloc_replay (which lies beside this one) under the allocator. Nothing when it is not installed.
std::optional<ReferenceFigures> run_reference(const Reference& reference, const Ops& ops, unsigned passes);

}  // namespace cupool::bench
