// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/slab_queue.h"

namespace cupool::pool {

void SlabQueue::push(Slab& slab) {
  slabs_.push_back(&slab);
  set(slabs_.size() - 1, &slab);
  rise(slabs_.size() - 1);
}

void SlabQueue::remove(Slab& slab) {
  const std::size_t place = slab.queue_place;
  Slab* const last = slabs_.back();
  slabs_.pop_back();
  if (last == &slab) return;
  set(place, last);
  rise(place);
  sink(last->queue_place);
}

void SlabQueue::rise(std::size_t place) {
  Slab* const slab = slabs_[place];
  for (; place != 0 && is_lower(slab, slabs_[(place - 1) / 2]); place = (place - 1) / 2) set(place, slabs_[(place - 1) / 2]);
  set(place, slab);
}

void SlabQueue::sink(std::size_t place) {
  Slab* const slab = slabs_[place];
  for (std::size_t child = 2 * place + 1; child < slabs_.size(); child = 2 * place + 1) {
    if (child + 1 < slabs_.size() && is_lower(slabs_[child + 1], slabs_[child])) ++child;
    if (!is_lower(slabs_[child], slab)) break;
    set(place, slabs_[child]);
    place = child;
  }
  set(place, slab);
}

}  // namespace cupool::pool
