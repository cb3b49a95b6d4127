// SPDX-License-Identifier: Apache-2.0
//
// Memory on its way back: completed frees to the heap, free handles to the driver, empty units to their source.
#include <algorithm>
#include <new>

#include "pool/arena.h"
#include "pool/arena_parts.h"

namespace cupool::pool {

void Arena::end_call(CallTally tally) {
  --calls_under_way_;
  counters_.backing_calls += tally.calls;
  counters_.backing_faults += tally.faults;
  changed_.notify_all();
}

void Arena::poll() {
  RankedLock lock(mutex_);
  reclaim(Patience::poll);
}

// True when it is worth looking at the heap again.
bool Arena::reclaim(Patience patience) {
  if (completions_ == nullptr || deferred_.empty()) return false;
  if (reclaiming_) {
    if (patience != Patience::wait) return false;
    changed_.wait(mutex_);
    return true;
  }
  reclaiming_ = true;
  bool ended = false;
  try {
    ended = reclaim_alone(patience);
  } catch (const std::bad_alloc&) {
    ended = false;  // what was not asked about now will be later
  }
  reclaiming_ = false;
  changed_.notify_all();
  return ended;
}

bool Arena::reclaim_alone(Patience patience) {
  mark_batches(patience == Patience::none ? DeferredFrees::Which::full : DeferredFrees::Which::any);
  if (end_batches()) return true;
  const auto oldest = deferred_.oldest();
  if (patience != Patience::wait || !oldest) return false;
  bool done = false;
  ++counters_.work_waits;
  {
    const Unlocked open(mutex_);
    done = completions_->wait(oldest->token).has_value();
  }
  if (!done) return false;
  end_batch(*oldest);
  end_batches();
  return true;
}

void Arena::mark_batches(DeferredFrees::Which which) {
  while (const auto closed = deferred_.close_one(which)) {
    Result<Token> token = fail(Errc::busy);
    {
      const Unlocked open(mutex_);
      token = completions_->mark(closed->after);
    }
    if (!token) {
      deferred_.reopen(closed->batch);
      return;
    }
    deferred_.set_mark(closed->batch, *token);
  }
}

bool Arena::end_batches() {
  bool ended = false;
  std::vector<DeferredFrees::Marked> heads;
  while (true) {
    heads.clear();
    deferred_.heads(heads);
    bool progress = false;
    for (const DeferredFrees::Marked& head : heads) {
      bool done = false;
      {
        const Unlocked open(mutex_);
        done = completions_->is_done(head.token);
      }
      if (!done) continue;
      end_batch(head);
      progress = true;
    }
    if (!progress) return ended;
    ended = true;
  }
}

void Arena::end_batch(DeferredFrees::Marked batch) {
  for (const Taken& taken : deferred_.complete(batch.batch)) static_cast<void>(heap_->give_back(taken));
  const Unlocked open(mutex_);
  completions_->forget(batch.token);
}

// Whole free positions that may be taken away, ascending, neighbours together.
std::vector<Slots> Arena::free_slots(Which which, const std::vector<std::uint64_t>& tied) const {
  const Granules handle{granules_per_handle_};
  std::vector<Run> runs;
  if (!heap_->list_free(handle, runs)) throw std::bad_alloc();
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  std::vector<Slots> found;
  for (const Run& run : runs) {
    const std::uint64_t end = run.end().count / handle.count;
    for (std::uint64_t position = (run.start.count + handle.count - 1) / handle.count; position < end; ++position) {
      if (which == Which::cold && !handles_.is_cold(position)) continue;
      if (std::binary_search(tied.begin(), tied.end(), position)) continue;
      if (!found.empty() && found.back().end() == position) {
        ++found.back().count;
      } else {
        found.push_back(Slots{position, 1});
      }
    }
  }
  return found;
}

bool Arena::set_leaving_aside(std::uint64_t count, Which which, std::vector<MappedSlots>& leaving, std::vector<Taken>& aside) {
  const std::vector<Slots> candidates = free_slots(which, tied_positions());
  leaving.reserve(candidates.size());
  aside.reserve(candidates.size());
  loose_.reserve(loose_.size() + count);
  // From the top: the lowest positions are filled first, so the highest are the last to be needed again.
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend() && count != 0; ++candidate) {
    const std::uint64_t part = std::min(candidate->count, count);
    const Slots slots{candidate->end() - part, part};
    MappedSlots entry{slots, {}};
    entry.handles.reserve(part);
    for (std::uint64_t position = slots.first; position < slots.end(); ++position) entry.handles.push_back(handles_.at(position));
    const auto taken = heap_->take_at(run_of(slots));
    if (!taken) return false;
    aside.push_back(*taken);
    leaving.push_back(std::move(entry));
    count -= part;
  }
  return true;
}

// Releases loose handles first, then mapped ones; `count` in all, or as many as there are.
void Arena::release_handles(std::uint64_t count, Which which) {
  ReleaseJob job{base_, config_.shape.handle, {}, {}};
  std::vector<Taken> aside;
  const std::uint64_t from_loose = std::min<std::uint64_t>(count, loose_.size());
  try {
    job.loose.assign(loose_.end() - static_cast<std::ptrdiff_t>(from_loose), loose_.end());
    static_cast<void>(set_leaving_aside(count - from_loose, which, job.leaving, aside));
  } catch (const std::bad_alloc&) {
    // What is aside already may go; without memory for the rest, the rest stays.
  }
  loose_.resize(loose_.size() - job.loose.size());
  ReleaseJob::Outcome outcome;
  begin_call();
  {
    const Unlocked open(mutex_);
    try {
      outcome = job.run(backing_);
    } catch (const std::bad_alloc&) {
      outcome.loose = job.loose;
      outcome.is_unmapped.assign(0, 0);
    }
  }
  for (std::size_t i = 0; i < aside.size(); ++i) {
    if (i < outcome.is_unmapped.size() && outcome.is_unmapped[i] != 0) {
      publish_absent(aside[i], job.leaving[i].slots);
    } else {
      static_cast<void>(heap_->give_back(aside[i]));
    }
  }
  loose_.insert(loose_.end(), outcome.loose.begin(), outcome.loose.end());
  account_.released(outcome.released);
  counters_.handles_released += outcome.released;
  end_call(outcome.tally);
}

// Positions that were set aside and are unmapped now leave the heap.
void Arena::publish_absent(const Taken& aside, Slots slots) {
  static_cast<void>(heap_->give_back(aside));
  // Without host memory the heap cannot forget them. It must not hand them out: the arena stops serving.
  if (!heap_->shrink(run_of(slots))) dropped_ = true;
  for (std::uint64_t position = slots.first; position < slots.end(); ++position) handles_.clear(position);
}

Units Arena::give_up_surplus() {
  const Units surplus = account_.take_surplus();
  if (surplus.count != 0) {
    const Unlocked open(mutex_);
    units_.give_up(surplus);
  }
  return surplus;
}

Units Arena::give_back_units(Units wanted) {
  RankedLock lock(mutex_);
  if (dropped_ || wanted.count == 0) return Units{0};
  Units returned = give_up_surplus();
  if (returned >= wanted) return returned;
  reclaim(Patience::poll);
  heap_->trim();
  std::uint64_t free = 0;
  try {
    free = free_handles() + loose_.size();
  } catch (const std::bad_alloc&) {
    return returned;
  }
  // Handles go only as far as whole units become empty by it.
  const std::uint64_t created = account_.created();
  const Units fewest = config_.shape.units_for_handles(created - free);
  const Units aim = std::max(fewest, account_.leased() > wanted - returned ? account_.leased() - (wanted - returned) : Units{0});
  const std::uint64_t keep = aim.count * config_.shape.handles_per_unit();
  if (created > keep) release_handles(created - keep, Which::any);
  returned += give_up_surplus();
  return returned;
}

Units Arena::settle() {
  RankedLock lock(mutex_);
  if (dropped_) return Units{0};
  reclaim(Patience::poll);
  std::uint64_t cold = loose_.size();
  try {
    for (const Slots& slots : free_slots(Which::cold, tied_positions())) cold += slots.count;
  } catch (const std::bad_alloc&) {
    cold = 0;
  }
  handles_.next_period();
  const std::uint64_t keep = config_.keep.count * config_.shape.handles_per_unit();
  if (cold > keep) release_handles((cold - keep + 1) / 2, Which::cold);
  return give_up_surplus();
}

void Arena::wait_until_quiet() {
  while (calls_under_way_ != 0 || reclaiming_) changed_.wait(mutex_);
}

void Arena::forget_everything() {
  records_ = AddressMap{};
  handles_ = HandleTable{};
  loose_.clear();
  live_ = live_asked_ = Bytes{0};
  account_.released(account_.created());
  // Dropped arenas may stay for as long as the process: without what they knew.
  if (auto empty = make_heap(HeapConfig{.capacity = Granules{granules_per_handle_}, .handle = Granules{granules_per_handle_}})) {
    heap_ = std::move(*empty);
  }
}

void Arena::drop() {
  RankedLock lock(mutex_);
  dropped_ = true;
  wait_until_quiet();
  const std::vector<Token> tokens = deferred_.drop();
  forget_everything();
  give_up_surplus();
  const Unlocked open(mutex_);
  for (const Token token : tokens) completions_->forget(token);
}

Result<Done> Arena::close() {
  RankedLock lock(mutex_);
  if (records_.size() != 0) return fail(Errc::busy, "blocks are live");
  dropped_ = true;  // nobody begins anything from here on
  wait_until_quiet();
  while (!deferred_.empty() && reclaim(Patience::wait)) {
  }
  if (!deferred_.empty()) {
    dropped_ = false;
    return fail(Errc::busy, "work may still be using freed memory");
  }
  heap_->trim();
  release_handles(account_.created(), Which::any);
  const bool empty = account_.created() == 0;
  Result<Done> freed = Done{};
  if (empty) {
    const Unlocked open(mutex_);
    freed = backing_.free_range(base_, config_.range);
  }
  if (!empty) freed = fail(Errc::driver, "the driver did not take every handle back");
  forget_everything();
  give_up_surplus();
  return freed;
}

}  // namespace cupool::pool
