// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "pool/heap/run.h"
#include "pool/heap/size_class.h"

namespace cupool::pool {

using SlabId = std::uint32_t;

/// A run cut into slots of one size class; one bit tells whether a slot is free.
class Slab {
 public:
  static constexpr std::uint64_t kMaxLength = 4096;  // granules, and thereby slots

  Slab(SlabId id, Run run, SizeClass size_class);

  SlabId id() const { return id_; }
  Run run() const { return run_; }
  SizeClass size_class() const { return size_class_; }
  Granules slot() const { return Granules{slot_}; }
  std::uint32_t used() const { return used_; }
  bool is_full() const { return used_ == slots_; }

  /// For a slab that was made before its place was known.
  void move_to(Granules start) { run_.start = start; }

  /// Takes the lowest free slot for a block of `asked` granules. The slab must not be full.
  Run take(Granules asked);

  /// False, changing nothing, unless the run is a slot in use.
  bool give_back(Run run);

  /// Granules that no block asked for: free slots, the tail behind the last slot, and what slots are longer than their blocks.
  /// The last part is exact while only take() is called; give_back() does not know what was asked for and takes off the average.
  Granules slack() const { return Granules{run_.length.count - std::uint64_t{used_} * slot_ + rounding_}; }

  bool is_consistent() const;

  std::uint32_t queue_place = 0;  ///< for SlabQueue

 private:
  SlabId id_;
  Run run_;
  SizeClass size_class_;
  std::uint32_t slot_;  // granules
  std::uint32_t slots_;
  std::uint32_t used_ = 0;
  std::uint64_t rounding_ = 0;
  std::uint64_t words_with_free_ = 0;
  std::array<std::uint64_t, kMaxLength / 64> free_{};
};

}  // namespace cupool::pool
