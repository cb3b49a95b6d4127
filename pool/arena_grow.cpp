// SPDX-License-Identifier: Apache-2.0
//
// A request that no hole serves: handles are created, or taken out of holes, and mapped where the fewest are missing.
#include <algorithm>
#include <new>

#include "pool/arena.h"
#include "pool/arena_parts.h"

namespace cupool::pool {
namespace {

/// Holes that other streams' work may still be using are hidden before the heap is asked, except slots inside slabs: this many of
/// those are passed over.
constexpr std::size_t kPatientTries = 1024;

}  // namespace

Arena::Pins::Pins(Heap& heap, const HazardMap& hazards, std::span<const StreamOrder> ordered) : heap_(heap) {
  try {
    hazards.for_each_conflict(ordered, [this](Run run) { pin_free_parts(run); });
  } catch (const std::bad_alloc&) {
    unpin();
    throw;
  }
}

Arena::Pins::~Pins() {
  unpin();
}

void Arena::Pins::pin_free_parts(Run run) {
  for (Granules at = run.start; at < run.end();) {
    const Segment segment = heap_.segment_at(at);
    const Granules end = std::min(segment.run.end(), run.end());
    if (segment.state == State::free) {
      if (taken_.size() == taken_.capacity()) taken_.reserve(std::max<std::size_t>(16, taken_.size() * 2));
      if (const auto taken = heap_.take_at(Run{at, end - at})) taken_.push_back(*taken);
    }
    at = end;
  }
}

void Arena::Pins::unpin() {
  for (const Taken& taken : taken_) static_cast<void>(heap_.give_back(taken));
  taken_.clear();
}

Granted<Block> Arena::take_slow(const Need& need) {
  Attempt attempt;
  {
    const Unlocked open(mutex_);
    attempt.limit = config_.shape.unit * units_.limit().count;
  }
  Granted<Block> served = tl::unexpected(Refusal{});
  try {
    served = serve(need, attempt);
  } catch (const std::bad_alloc&) {
    served = refuse(need, Errc::no_memory, Rule::host_memory);
  }
  if (!served) served.error().limit = attempt.limit;
  give_up_surplus();
  return served;
}

// Each round asks for the cheapest thing that may help and begins again with what has changed, also by others, meanwhile. A round
// that ends without a block has used up a possibility (create_at_most, may_lease) or has waited for somebody's progress.
Granted<Block> Arena::serve(const Need& need, Attempt& attempt) {
  bool asked_with_patience = false;
  while (true) {
    if (dropped_) return refuse(need, Errc::driver, Rule::driver);
    if (kGranule * need.length.count > attempt.limit) return refuse(need, Errc::over_limit, Rule::job_limit);
    reclaim(Patience::poll);
    std::optional<Taken> hole;
    {
      const Pins pins(*heap_, deferred_.hazards(), need.ordered);
      hole = take_hole(need, kPatientTries);
    }
    if (hole) return commit(need, *hole);
    if (const auto made = plan(need, attempt)) {
      if (auto served = carry_out(need, *made, attempt)) return *std::move(served);
      continue;
    }
    if (attempt.to_create != 0 && attempt.may_lease && !attempt.device_is_full()) {
      lease(Units{0}, config_.shape.units_for_handles(attempt.to_create), attempt);
      continue;
    }
    if (wait_for_others() || reclaim(Patience::wait)) continue;
    if (asked_with_patience || attempt.device_is_full() || !attempt.has_place) return refuse_finally(need, attempt);
    asked_with_patience = true;
    const Units lacking = config_.shape.units_for_handles(attempt.lacking);
    if (lacking.count != 0) lease(lacking, lacking, attempt);
  }
}

// Without moving as long as more units may come, then with moving.
std::optional<Arena::Plan> Arena::plan(const Need& need, Attempt& attempt) {
  auto made = plan_with(need, attempt, false);
  if (made || !attempt.has_place || (attempt.may_lease && !attempt.device_is_full())) return made;
  return plan_with(need, attempt, true);
}

std::optional<Arena::Plan> Arena::plan_with(const Need& need, Attempt& attempt, bool moving) {
  const std::vector<std::uint64_t> tied = tied_positions();
  const std::uint64_t creatable = std::min(account_.spare(), attempt.create_at_most);
  const std::uint64_t at_hand = loose_.size() + creatable;
  const std::uint64_t supply = at_hand + heap_->statistics().free_handles - tied.size();
  Plan plan;
  {
    const Pins pins(*heap_, deferred_.hazards(), need.ordered);
    const Result<Placement> place = place_for(need, moving ? supply : Attempt::kUnbounded);
    const bool found = place && !deferred_.hazards().conflicts(place->run, need.ordered);
    if (!moving) {
      attempt.has_place = found;
      attempt.to_create = found && place->missing > at_hand ? place->missing - at_hand : 0;
      attempt.lacking = found && place->missing + place->free_handles > supply ? place->missing + place->free_handles - supply : 0;
    }
    if (!found || (!moving && place->missing > at_hand)) return std::nullopt;
    plan.placement = *place;
  }
  const std::uint64_t from_loose = std::min<std::uint64_t>(loose_.size(), plan.placement.missing);
  plan.create = std::min(plan.placement.missing - from_loose, creatable);
  plan.loose.assign(loose_.end() - static_cast<std::ptrdiff_t>(from_loose), loose_.end());
  plan.targets = absent_under(plan.placement.run);
  if (set_aside(plan, plan.placement.missing - from_loose - plan.create, tied)) return plan;
  attempt.code = Errc::no_memory;
  attempt.rule = Rule::host_memory;
  return std::nullopt;
}

// A block of whole handles lies on whole handles where that needs no more of them: when it is freed, every one of them is free.
Result<Placement> Arena::place_for(const Need& need, std::uint64_t supply) const {
  Result<Placement> place = heap_->place(need.length, need.alignment, supply);
  if (!place || need.length.count % granules_per_handle_ != 0) return place;
  const Granules alignment{std::max(need.alignment.count, granules_per_handle_)};
  const Result<Placement> aligned = heap_->place(need.length, alignment, supply);
  return aligned && aligned->missing <= place->missing ? aligned : place;
}

std::vector<Slots> Arena::absent_under(Run run) const {
  std::vector<Slots> absent;
  const std::uint64_t end = (run.end().count - 1) / granules_per_handle_ + 1;
  for (std::uint64_t position = run.start.count / granules_per_handle_; position < end; ++position) {
    if (handles_.is_mapped(position)) continue;
    if (!absent.empty() && absent.back().end() == position) {
      ++absent.back().count;
    } else {
      absent.push_back(Slots{position, 1});
    }
  }
  return absent;
}

bool Arena::set_aside(Plan& plan, std::uint64_t donors, const std::vector<std::uint64_t>& tied) {
  handles_.ensure(plan.targets.empty() ? 0 : plan.targets.back().end());
  // Whatever happens later, these handles may come back as loose ones, and then there must be room.
  loose_.reserve(loose_.size() + plan.placement.missing);
  if (!set_targets_aside(plan)) return false;
  bool good = false;
  try {
    good = set_donors_aside(plan, donors, tied);
  } catch (const std::bad_alloc&) {
    good = false;
  }
  if (!good) {
    for (const Taken& taken : plan.donors_aside) static_cast<void>(heap_->give_back(taken));
    static_cast<void>(heap_->give_back(plan.aside));
    put_targets_back(plan, plan.targets.size());
    return false;
  }
  account_.begin_create(plan.create);
  loose_.resize(loose_.size() - plan.loose.size());
  return true;
}

bool Arena::set_targets_aside(Plan& plan) {
  Run whole = plan.placement.run;
  std::size_t grown = 0;
  for (const Slots& target : plan.targets) {
    const Run run = run_of(target);
    if (!heap_->grow(run)) break;
    ++grown;
    // The first and last handle may stick out; that part must not be handed out before it is mapped.
    const Granules end = std::max(whole.end(), run.end());
    whole.start = std::min(whole.start, run.start);
    whole.length = end - whole.start;
  }
  if (grown == plan.targets.size()) {
    if (const auto aside = heap_->take_at(whole)) {
      plan.aside = *aside;
      return true;
    }
  }
  put_targets_back(plan, grown);
  return false;
}

void Arena::put_targets_back(const Plan& plan, std::size_t grown) {
  for (std::size_t i = 0; i < grown; ++i) static_cast<void>(heap_->shrink(run_of(plan.targets[i])));
}

bool Arena::set_donors_aside(Plan& plan, std::uint64_t count, const std::vector<std::uint64_t>& tied) {
  if (count == 0) return true;
  std::vector<Slots> candidates = free_slots(Which::any, tied);
  // Small holes first: a hole used up leaves no rest. (Largest, highest or best fitting first: the same capacities, 1 to 13 % more
  // moves.)
  std::stable_sort(candidates.begin(), candidates.end(), [](const Slots& a, const Slots& b) { return a.count < b.count; });
  plan.donors.reserve(candidates.size());
  plan.donors_aside.reserve(candidates.size());
  for (const Slots& candidate : candidates) {
    if (count == 0) break;
    const std::uint64_t part = std::min(candidate.count, count);
    const Slots slots{candidate.end() - part, part};
    MappedSlots donor{slots, {}};
    donor.handles.reserve(part);
    for (std::uint64_t position = slots.first; position < slots.end(); ++position) donor.handles.push_back(handles_.at(position));
    const auto aside = heap_->take_at(run_of(slots));
    if (!aside) return false;
    plan.donors.push_back(std::move(donor));
    plan.donors_aside.push_back(*aside);
    count -= part;
  }
  return count == 0;
}

// Nothing: the request should begin again, since the attempt has learnt something.
std::optional<Granted<Block>> Arena::carry_out(const Need& need, const Plan& plan, Attempt& attempt) {
  MapJob::Outcome outcome;
  begin_call();
  {
    const Unlocked open(mutex_);
    try {
      outcome = MapJob{base_, config_.shape.handle, plan.targets, plan.loose, plan.create, plan.donors}.run(backing_);
    } catch (const std::bad_alloc&) {
      outcome.verdict = fail(Errc::no_memory, "the host has no memory for a grow");
      outcome.loose = plan.loose;
      outcome.donor_is_back.assign(plan.donors.size(), 1);
    }
  }
  publish(plan, outcome);
  end_call(outcome.tally);
  if (!outcome.verdict) {
    attempt.code = outcome.verdict.error().code;
    if (!outcome.create_failed || attempt.code != Errc::no_memory) return Granted<Block>(refuse(need, attempt.code, Rule::driver));
    attempt.create_at_most = outcome.made;
    attempt.rule = Rule::device_full;
    return std::nullopt;
  }
  ++counters_.grows;
  counters_.handles_created += plan.create;
  if (!plan.donors.empty()) ++counters_.moving_grows;
  for (const MappedSlots& donor : plan.donors) counters_.handles_moved += donor.slots.count;
  if (dropped_) return Granted<Block>(refuse(need, Errc::driver, Rule::driver));
  // The place is free and mapped now, and known to be safe. Small blocks are the heap's to place: they belong in slabs.
  Result<Taken> taken = fail(Errc::no_space);
  if (need.length.count < granules_per_handle_ && deferred_.hazards().empty()) taken = heap_->take(need.length, need.alignment);
  if (!taken) taken = heap_->take_at(plan.placement.run);
  if (!taken) return std::nullopt;
  return commit(need, *taken);
}

void Arena::publish(const Plan& plan, const MapJob::Outcome& outcome) {
  static_cast<void>(heap_->give_back(plan.aside));
  std::size_t next = 0;
  for (const Slots& target : plan.targets) {
    const HandleId* mapped = nullptr;
    if (outcome.verdict) {
      mapped = outcome.placed.data() + next;
      next += target.count;
    }
    for (const MappedSlots& stuck : outcome.stuck) {
      if (stuck.slots == target) mapped = stuck.handles.data();
    }
    if (mapped == nullptr) {
      if (!heap_->shrink(run_of(target))) dropped_ = true;
      continue;
    }
    for (std::uint64_t i = 0; i < target.count; ++i) handles_.set(target.first + i, mapped[i]);
  }
  for (std::size_t i = 0; i < plan.donors.size(); ++i) {
    publish_donor(plan, i, outcome.verdict.has_value() || outcome.donor_is_back[i] == 0);
  }
  loose_.insert(loose_.end(), outcome.loose.begin(), outcome.loose.end());
  account_.end_create(plan.create, outcome.created);
}

void Arena::publish_donor(const Plan& plan, std::size_t donor, bool moved) {
  if (moved) {
    publish_absent(plan.donors_aside[donor], plan.donors[donor].slots);
  } else {
    static_cast<void>(heap_->give_back(plan.donors_aside[donor]));
  }
}

void Arena::lease(Units least, Units most, Attempt& attempt) {
  tl::expected<Units, LeaseRefusal> leased = Units{0};
  {
    const Unlocked open(mutex_);
    leased = units_.lease(least, most);
  }
  if (!leased) {
    attempt.may_lease = false;
    attempt.code = leased.error().code;
    attempt.rule = leased.error().rule;
    return;
  }
  account_.add_lease(*leased);
  if (*leased < most) attempt.may_lease = false;
}

tl::unexpected<Refusal> Arena::refuse_finally(const Need& need, const Attempt& attempt) {
  if (attempt.device_is_full()) return refuse(need, Errc::no_memory, Rule::device_full);
  const HeapStatistics heap = heap_->statistics();
  const Granules free = heap.present - heap.block_granules;
  if (!deferred_.empty() && free + deferred_.pinned() >= need.length) return refuse(need, Errc::busy, Rule::waiting);
  if (!attempt.has_place) return refuse(need, Errc::no_space, Rule::address_space);
  if (free >= need.length && attempt.rule == Rule::job_limit) return refuse(need, attempt.code, Rule::fragmented);
  return refuse(need, attempt.code, attempt.rule);
}

bool Arena::wait_for_others() {
  if (calls_under_way_ == 0) return false;
  changed_.wait(mutex_);
  return true;
}

}  // namespace cupool::pool
