// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pool/heap/slab.h"

namespace cupool::pool {

/// The slabs of one size class that have a free slot, the lowest first: filling low slabs lets high ones run empty.
///
/// A binary heap in which each slab knows its place, so that any of them can leave. Costs log(slabs), and only when a slab fills
/// up, gets its first free slot, opens or returns.
class SlabQueue {
 public:
  bool empty() const { return slabs_.empty(); }
  std::size_t size() const { return slabs_.size(); }
  Slab& lowest() const { return *slabs_.front(); }

  /// Makes push() infallible for this many slabs. May throw std::bad_alloc.
  void reserve(std::size_t slabs) {
    if (slabs > slabs_.capacity()) slabs_.reserve(2 * slabs);
  }
  void push(Slab& slab);
  void remove(Slab& slab);
  bool holds(const Slab& slab) const { return slab.queue_place < slabs_.size() && slabs_[slab.queue_place] == &slab; }
  std::uint64_t metadata_bytes() const { return slabs_.capacity() * sizeof(slabs_[0]); }

 private:
  void set(std::size_t place, Slab* slab) {
    slabs_[place] = slab;
    slab->queue_place = static_cast<std::uint32_t>(place);
  }
  void rise(std::size_t place);
  void sink(std::size_t place);
  bool is_lower(const Slab* a, const Slab* b) const { return a->run().start < b->run().start; }

  std::vector<Slab*> slabs_;
};

}  // namespace cupool::pool
