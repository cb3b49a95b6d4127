// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "pool/heap/heap.h"
#include "pool/heap/slab.h"
#include "pool/heap/slab_queue.h"

namespace cupool::pool {

/// Serves small blocks (under half a slab) from slabs where there are many of a size, everything else from the engine below.
///
/// Slabs lie in *regions*: whole handles where there are many slabs and that is affordable, so that a forgotten small block pins
/// one handle, not one of everybody's; else one slab each. They must not cost utilisation, neither by slots that nobody uses nor by
/// standing where a large block would fit:
/// - a class gets its first slab when HeapConfig::first_slab_after blocks of it, and at least a slab full, lie in the engine;
/// - a region is opened only while the granules in slabs that no block asked for (slack) stay below 1/HeapConfig::slack_share of
///   what is live.
/// Other small blocks go to the engine, which fits them exactly. So small programs have no slabs, and a large one has them for the
/// sizes that it has many of (measured on traces: README).
class SlabHeap final : public Heap {
 public:
  SlabHeap(std::unique_ptr<Heap> engine, const HeapConfig& config);

  Result<Taken> take(Granules length, Granules alignment) override;
  Result<Taken> take_at(Run run) override;
  Result<Done> give_back(const Taken& taken) override;
  Result<Done> grow(Run run) override { return engine_->grow(run); }
  Result<Done> shrink(Run run) override;
  void trim() override;
  Result<Placement> place(Granules length, Granules alignment, std::uint64_t supply) const override {
    return engine_->place(length, alignment, supply);
  }
  Segment segment_at(Granules position) const override { return engine_->segment_at(position); }
  Result<Run> next_free(Granules position, Granules length) const override { return engine_->next_free(position, length); }
  Result<Done> list_free(Granules length, std::vector<Run>& runs) const override { return engine_->list_free(length, runs); }
  std::uint64_t free_handles() const override { return engine_->free_handles(); }
  HeapStatistics statistics() const override;
  bool is_consistent() const override;

 private:
  /// Empty slabs kept, one for a class at most, so that a class that swings around zero does not open and return one each time.
  static constexpr std::uint64_t kMaxEmpty = 4;
  /// Marks with this bit name a slab, others are the engine's.
  static constexpr std::uint32_t kSlabMark = 0x80000000;

  struct Region {
    Taken taken;
    std::uint64_t free_slabs = 0;  // one bit each
  };
  using Regions = std::map<std::uint64_t, Region>;  // by start

  /// A size class as this heap uses it.
  struct ClassRule {
    Granules slot;
    /// Blocks in the engine from which on a slab is worth it; more than there can be for classes that waste the end of a slab.
    std::uint32_t first_slab_after = 0;
  };

  bool is_small(Granules length) const { return length.count != 0 && length.count < slab_length_.count / 2; }
  bool is_region(const Taken& taken) const;
  /// What programs hold: blocks of the engine and slots in use.
  Granules live() const { return direct_ + slots_; }
  /// How much slack may still be added.
  std::uint64_t affordable_slack() const;

  /// The lowest slab of the class with a free slot, opened if need be; null when none may or can be opened.
  Slab* slab_for(SizeClass size_class);
  void count_direct(Granules length, int blocks);
  bool is_worth_a_slab(SizeClass size_class) const {
    return direct_of_class_[size_class] >= rules_[size_class].first_slab_after || open_slabs_[size_class] != 0;
  }
  Slab* open_slab(SizeClass size_class);
  void return_slab(Slab& slab);
  Regions::iterator region_with_room();
  Regions::iterator open_region();
  Granules longest_justified_region() const;
  std::uint64_t slabs_of(const Region& region) const;

  Taken take_slot(Slab& slab, Granules length);
  Result<Done> give_slot_back(const Taken& taken);
  Result<Taken> take_direct(Granules length, Granules alignment);
  /// An open slab of a longer class with a free slot at such an alignment: better than a refusal.
  Slab* slab_with_longer_slot(Granules length, Granules alignment);

  std::unique_ptr<Heap> engine_;
  Granules slab_length_;
  std::uint64_t slack_share_;
  std::uint64_t region_share_;
  Granules longest_region_;
  Regions regions_;
  std::uint64_t room_from_ = 0;               // no region that starts below has room for a slab
  std::vector<std::unique_ptr<Slab>> slabs_;  // by id; null for ids not in use
  std::vector<SlabId> free_ids_;
  std::array<ClassRule, kSizeClasses> rules_;
  std::array<SlabQueue, kSizeClasses> queues_;
  std::array<std::uint32_t, kSizeClasses> open_slabs_{};       // of a class
  std::array<std::uint32_t, kSizeClasses> direct_of_class_{};  // blocks of the engine that a slot could hold
  Granules direct_;                                            // blocks that the engine serves
  Granules slots_;                                             // slots in use
  std::uint64_t slot_blocks_ = 0;
  Granules slack_;  // of all slabs and of the parts of regions that are no slab
  std::uint64_t empty_ = 0;
};

}  // namespace cupool::pool
