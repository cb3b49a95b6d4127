// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "pool/heap/heap.h"
#include "pool/heap/run_map.h"

namespace cupool::pool {

struct PlacementRequest {
  Granules length;
  Granules alignment;
  Granules handle;
  std::uint64_t supply;  ///< how many handles the run may touch that are absent or wholly free
};

/// Heap::place() over a map whose absent nodes are a list linked by list_after, beginning at `first_absent`.
std::optional<Placement> find_placement(const RunMap& map, NodeId first_absent, const PlacementRequest& request);

}  // namespace cupool::pool
