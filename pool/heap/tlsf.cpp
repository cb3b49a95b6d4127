// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/tlsf.h"

namespace cupool::pool {

void TlsfIndex::put(NodeId id) {
  const NodeId after = map_[id].after;
  if (is_free(after)) {
    withdraw(after);
    map_.swallow_after(id);
  }
  const NodeId before = map_[id].before;
  if (is_free(before)) {
    withdraw(before);
    map_.swallow_after(before);
    id = before;
  }
  bins_.insert(id);
  ++runs_;
  const Node& node = map_[id];
  if (node.length() >= handle_) free_handles_ += handles_inside(node.run(), handle_);
}

void TlsfIndex::withdraw(NodeId id) {
  bins_.remove(id);
  --runs_;
  const Node& node = map_[id];
  if (node.length() >= handle_) free_handles_ -= handles_inside(node.run(), handle_);
}

Spot TlsfIndex::choose(Granules length, Granules alignment) {
  const NodeId id = bins_.find(length, alignment);
  if (id == kNoNode) return Spot{};
  return Spot{id, align_up(map_[id].start(), alignment)};
}

bool TlsfIndex::is_consistent() const {
  if (!bins_.is_consistent()) return false;
  std::uint64_t runs = 0, handles = 0;
  Granules longest;
  State before = State::taken;
  for (NodeId id = map_.first(); id != kNoNode; id = map_[id].after) {
    const Node& node = map_[id];
    if (node.state() == State::free) {
      if (before == State::free) return false;
      ++runs;
      handles += handles_inside(node.run(), handle_);
      longest = std::max(longest, node.length());
    }
    before = node.state();
  }
  return runs == runs_ && handles == free_handles_ && longest == bins_.longest();
}

template class RunHeap<TlsfIndex>;

}  // namespace cupool::pool
