// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "pool/arena.h"

/// What the parts of Arena hand to each other. For arena*.cpp only.
namespace cupool::pool {

/// A request in the heap's terms.
struct Arena::Need {
  Bytes asked;
  Granules length;
  Granules alignment;
  std::span<const StreamOrder> ordered;
  CallSite call_site{};
};

/// How the handles for a request will come together.
struct Arena::Plan {
  Placement placement;
  std::uint64_t create = 0;
  std::vector<Slots> targets;  ///< the absent positions that the placement touches
  std::vector<MappedSlots> donors;
  std::vector<HandleId> loose;
  Taken aside{};                    ///< the placement and what of the targets sticks out, taken while calls are under way
  std::vector<Taken> donors_aside;  ///< one for each donor
};

/// What one request has learnt on its way through the steps.
struct Arena::Attempt {
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0} >> 1;

  Bytes limit;                                ///< what the source allows in all
  std::uint64_t create_at_most = kUnbounded;  ///< as many as the driver made before it said that the device is full
  bool may_lease = true;                      ///< until the source has nothing to give without waiting
  bool has_place = true;                      ///< whether the last plan found a gap in the address range
  std::uint64_t to_create = 0;                ///< handles that the last plan lacked to serve the request without moving any
  std::uint64_t lacking = 0;                  ///< handles that the last plan lacked although it would have moved all that are free
  Errc code = Errc::over_limit;
  Rule rule = Rule::job_limit;

  bool device_is_full() const { return create_at_most != kUnbounded; }
};

/// Opens a lock for a call that must not be made under it.
class CUPOOL_SCOPED_CAPABILITY Unlocked {
 public:
  explicit Unlocked(RankedMutex& mutex) CUPOOL_RELEASE(mutex) : mutex_(mutex) {
    mutex_.unlock();
    assert(holds_no_lock());
  }
  ~Unlocked() CUPOOL_RELEASE() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  RankedMutex& mutex_;
};

/// Keeps free memory that work may still be using out of the heap's sight, for as long as it lives: not across an unlock.
class Arena::Pins {
 public:
  /// May throw std::bad_alloc, changing nothing.
  Pins(Heap& heap, const HazardMap& hazards, std::span<const StreamOrder> ordered);
  ~Pins();
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

 private:
  void pin_free_parts(Run run);
  void unpin();

  Heap& heap_;
  std::vector<Taken> taken_;
};

}  // namespace cupool::pool
