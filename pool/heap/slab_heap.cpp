// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/slab_heap.h"

#include <algorithm>
#include <bit>
#include <new>

#include "policy/base/units.h"

namespace cupool::pool {
namespace {

/// Slots start at multiples of the slot from an aligned slab, so they have the alignment that their length has.
bool is_aligned_slot(Granules slot, Granules alignment) {
  return (slot.count & (alignment.count - 1)) == 0;
}

/// Nor may the tail behind the last slot waste more than rounding does.
bool fills_slab(Granules slot, Granules slab) {
  return slab.count / slot.count * slot.count >= slab.count - slab.count / 8;
}

}  // namespace

SlabHeap::SlabHeap(std::unique_ptr<Heap> engine, const HeapConfig& config)
    : engine_(std::move(engine)),
      slab_length_(config.slab),
      slack_share_(config.slack_share),
      region_share_(config.region_share),
      longest_region_(std::clamp(config.handle, config.slab, Granules{config.slab.count * 64})) {
  for (SizeClass size_class = 0; size_class < kSizeClasses; ++size_class) {
    const Granules slot = slot_length(size_class);
    const std::uint64_t after = std::max(config.first_slab_after, slab_length_.count / slot.count);
    const bool is_used = slot <= slab_length_ && fills_slab(slot, slab_length_);
    rules_[size_class] = ClassRule{slot, is_used ? static_cast<std::uint32_t>(after) : UINT32_MAX};
  }
}

std::uint64_t SlabHeap::slabs_of(const Region& region) const {
  return region.taken.run.length.count / slab_length_.count;
}

std::uint64_t SlabHeap::affordable_slack() const {
  const std::uint64_t allowed = live().count / slack_share_;
  return allowed > slack_.count ? allowed - slack_.count : 0;
}

bool SlabHeap::is_region(const Taken& taken) const {
  if (taken.run.length < slab_length_ || taken.run.start.count % slab_length_.count != 0) return false;
  return regions_.count(taken.run.start.count) != 0;
}

Result<Taken> SlabHeap::take(Granules length, Granules alignment) {
  if (is_small(length) && is_power_of_two(alignment.count)) {
    const SizeClass size_class = size_class_of(length);
    if (is_aligned_slot(rules_[size_class].slot, alignment)) {
      if (Slab* const slab = slab_for(size_class)) return take_slot(*slab, length);
    }
  }
  Result<Taken> taken = take_direct(length, alignment);
  if (taken || taken.error().code != Errc::no_space) return taken;
  if (empty_ != 0) {
    trim();
    taken = take_direct(length, alignment);
    if (taken) return taken;
  }
  Slab* const slab = slab_with_longer_slot(length, alignment);
  if (slab == nullptr) return taken;
  return take_slot(*slab, length);
}

Result<Taken> SlabHeap::take_at(Run run) {
  Result<Taken> taken = engine_->take_at(run);
  if (!taken && taken.error().code == Errc::no_space && empty_ != 0) {
    trim();
    taken = engine_->take_at(run);
  }
  if (taken) count_direct(run.length, 1);
  return taken;
}

Result<Done> SlabHeap::shrink(Run run) {
  const Result<Done> done = engine_->shrink(run);
  if (done || done.error().code != Errc::busy || empty_ == 0) return done;
  trim();
  return engine_->shrink(run);
}

Result<Done> SlabHeap::give_back(const Taken& taken) {
  if ((taken.mark & kSlabMark) != 0) return give_slot_back(taken);
  if (is_region(taken)) return fail(Errc::not_taken, "a run that slabs lie in");
  const Result<Done> done = engine_->give_back(taken);
  if (done) count_direct(taken.run.length, -1);
  return done;
}

Result<Taken> SlabHeap::take_direct(Granules length, Granules alignment) {
  const Result<Taken> taken = engine_->take(length, alignment);
  if (taken) count_direct(taken->run.length, 1);
  return taken;
}

void SlabHeap::count_direct(Granules length, int blocks) {
  // Unsigned and modular: minus one is as good as plus one.
  direct_ += Granules{length.count * static_cast<std::uint64_t>(blocks)};
  if (is_small(length)) direct_of_class_[size_class_of(length)] += static_cast<std::uint32_t>(blocks);
}

Taken SlabHeap::take_slot(Slab& slab, Granules length) {
  if (slab.used() == 0) --empty_;
  const Run run = slab.take(length);
  if (slab.is_full()) queues_[slab.size_class()].remove(slab);
  slack_ -= length;
  slots_ += run.length;
  ++slot_blocks_;
  return Taken{run, kSlabMark | slab.id()};
}

Result<Done> SlabHeap::give_slot_back(const Taken& taken) {
  const SlabId id = taken.mark & ~kSlabMark;
  if (id >= slabs_.size() || slabs_[id] == nullptr) return fail(Errc::not_taken);
  Slab& slab = *slabs_[id];
  const bool was_full = slab.is_full();
  const Granules slack = slab.slack();
  if (!slab.give_back(taken.run)) return fail(Errc::not_taken);
  slack_ += slab.slack() - slack;
  slots_ -= taken.run.length;
  --slot_blocks_;
  SlabQueue& queue = queues_[slab.size_class()];
  if (was_full) queue.push(slab);
  if (slab.used() != 0) return Done{};
  ++empty_;
  const bool is_only_one = queue.size() == 1;
  if (!is_only_one || empty_ > kMaxEmpty || slack_.count > live().count / slack_share_) return_slab(slab);
  return Done{};
}

void SlabHeap::trim() {
  for (const std::unique_ptr<Slab>& slab : slabs_) {
    if (empty_ == 0) return;
    if (slab != nullptr && slab->used() == 0) return_slab(*slab);
  }
}

Slab* SlabHeap::slab_for(SizeClass size_class) {
  if (!queues_[size_class].empty()) return &queues_[size_class].lowest();
  return is_worth_a_slab(size_class) ? open_slab(size_class) : nullptr;
}

Slab* SlabHeap::slab_with_longer_slot(Granules length, Granules alignment) {
  if (!is_small(length) || !is_power_of_two(alignment.count)) return nullptr;
  for (SizeClass size_class = size_class_of(length); size_class < kSizeClasses; ++size_class) {
    if (!queues_[size_class].empty() && is_aligned_slot(slot_length(size_class), alignment)) return &queues_[size_class].lowest();
  }
  return nullptr;
}

Slab* SlabHeap::open_slab(SizeClass size_class) {
  const bool has_room = region_with_room() != regions_.end();
  if (!has_room && affordable_slack() < slab_length_.count) return nullptr;
  try {
    // What can fail comes first; return_slab() must find room for the id without allocating.
    if (free_ids_.empty()) {
      free_ids_.reserve(slabs_.size() + 1);
      slabs_.emplace_back();
      free_ids_.push_back(static_cast<SlabId>(slabs_.size() - 1));
    }
    queues_[size_class].reserve(open_slabs_[size_class] + 1);
    auto slab = std::make_unique<Slab>(free_ids_.back(), Run{Granules{0}, slab_length_}, size_class);
    const auto region = has_room ? region_with_room() : open_region();
    if (region == regions_.end()) return nullptr;
    const auto place = static_cast<unsigned>(std::countr_zero(region->second.free_slabs));
    region->second.free_slabs &= region->second.free_slabs - 1;
    slab->move_to(Granules{region->first + place * slab_length_.count});
    slabs_[slab->id()] = std::move(slab);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  Slab& opened = *slabs_[free_ids_.back()];
  free_ids_.pop_back();
  queues_[size_class].push(opened);
  ++open_slabs_[size_class];
  ++empty_;
  return &opened;
}

void SlabHeap::return_slab(Slab& slab) {
  const auto region = std::prev(regions_.upper_bound(slab.run().start.count));
  region->second.free_slabs |= std::uint64_t{1} << ((slab.run().start.count - region->first) / slab_length_.count);
  room_from_ = std::min(room_from_, region->first);
  queues_[slab.size_class()].remove(slab);
  --open_slabs_[slab.size_class()];
  --empty_;
  const SlabId id = slab.id();
  slabs_[id].reset();
  free_ids_.push_back(id);
  if (static_cast<unsigned>(std::popcount(region->second.free_slabs)) != slabs_of(region->second)) return;
  // Fails only when the engine finds no host memory; then the region stays and is used again.
  if (!engine_->give_back(region->second.taken)) return;
  slack_ -= region->second.taken.run.length;
  regions_.erase(region);
}

SlabHeap::Regions::iterator SlabHeap::region_with_room() {
  auto region = regions_.lower_bound(room_from_);
  while (region != regions_.end() && region->second.free_slabs == 0) ++region;
  room_from_ = region == regions_.end() ? ~std::uint64_t{0} : region->first;
  return region;
}

Granules SlabHeap::longest_justified_region() const {
  // A long region needs a long aligned hole, which a large block may be waiting for: not for the sake of a few slabs.
  const std::uint64_t in_slabs = (slabs_.size() - free_ids_.size()) * slab_length_.count;
  return Granules{std::max(slab_length_.count, in_slabs / region_share_)};
}

SlabHeap::Regions::iterator SlabHeap::open_region() {
  const std::uint64_t affordable = affordable_slack();
  const Granules justified = longest_justified_region();
  for (Granules length = longest_region_; length >= slab_length_; length = Granules{length.count / 2}) {
    if (length.count > affordable || length > justified) continue;
    const Result<Taken> taken = engine_->take(length, length);
    if (!taken) continue;
    const std::uint64_t slabs = length.count / slab_length_.count;
    try {
      const auto region = regions_.emplace(taken->run.start.count, Region{*taken, ~std::uint64_t{0} >> (64 - slabs)}).first;
      room_from_ = std::min(room_from_, region->first);
      slack_ += length;
      return region;
    } catch (const std::bad_alloc&) {
      (void)engine_->give_back(*taken);
      return regions_.end();
    }
  }
  return regions_.end();
}

HeapStatistics SlabHeap::statistics() const {
  HeapStatistics now = engine_->statistics();
  now.blocks += slot_blocks_;
  now.blocks -= regions_.size();
  now.block_granules = live();
  now.slabs = slabs_.size() - free_ids_.size();
  now.empty_slabs = empty_;
  now.metadata_bytes += sizeof(*this) + now.slabs * sizeof(Slab) + slabs_.capacity() * sizeof(slabs_[0]) +
                        free_ids_.capacity() * sizeof(SlabId) + regions_.size() * (sizeof(Region) + 5 * sizeof(void*));
  for (const SlabQueue& queue : queues_) now.metadata_bytes += queue.metadata_bytes();
  return now;
}

bool SlabHeap::is_consistent() const {
  if (!engine_->is_consistent()) return false;
  Granules slack, slots, in_regions;
  std::uint64_t empty = 0, places = 0;
  for (const auto& [start, region] : regions_) {
    if (engine_->segment_at(Granules{start}).run != region.taken.run) return false;
    if (region.free_slabs != 0 && start < room_from_) return false;
    const auto free = static_cast<unsigned>(std::popcount(region.free_slabs));
    slack += Granules{free * slab_length_.count};
    places += slabs_of(region) - free;
    in_regions += region.taken.run.length;
  }
  std::array<std::uint32_t, kSizeClasses> open{};
  for (const std::unique_ptr<Slab>& slab : slabs_) {
    if (slab == nullptr) continue;
    if (!slab->is_consistent() || queues_[slab->size_class()].holds(*slab) == slab->is_full()) return false;
    slack += slab->slack();
    slots += Granules{std::uint64_t{slab->used()} * slab->slot().count};
    empty += slab->used() == 0 ? 1 : 0;
    ++open[slab->size_class()];
  }
  return slack == slack_ && slots == slots_ && empty == empty_ && open == open_slabs_ &&
         places == slabs_.size() - free_ids_.size() && engine_->statistics().taken == direct_ + in_regions;
}

}  // namespace cupool::pool
