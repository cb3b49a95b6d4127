// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pool/heap/bins.h"
#include "pool/heap/run_heap.h"

namespace cupool::pool {

/// The free nodes of the default engine: free neighbours always merge, bins find the tightest fit at a constant cost.
class TlsfIndex {
 public:
  static constexpr unsigned kSplitsOfPut = 0;

  TlsfIndex(RunMap& map, Granules handle) : map_(map), bins_(map), handle_(handle) {}

  void put(NodeId id);
  void withdraw(NodeId id);
  Spot choose(Granules length, Granules alignment);

  void list(Granules length, std::vector<Run>& runs) const { bins_.list(length, runs); }
  Granules longest() const { return bins_.longest(); }
  std::uint64_t runs() const { return runs_; }
  std::uint64_t free_handles() const { return free_handles_; }
  bool is_consistent() const;

 private:
  bool is_free(NodeId id) const { return id != kNoNode && map_[id].state() == State::free; }

  RunMap& map_;
  Bins bins_;
  Granules handle_;
  std::uint64_t runs_ = 0;
  std::uint64_t free_handles_ = 0;
};

extern template class RunHeap<TlsfIndex>;
using Tlsf = RunHeap<TlsfIndex>;

}  // namespace cupool::pool
