// SPDX-License-Identifier: Apache-2.0
#include "pool/arena.h"

#include <algorithm>
#include <bit>
#include <new>

#include "pool/arena_parts.h"

namespace cupool::pool {
namespace {

/// Holes tried in passing that other streams' work may still be using, before the slow path looks at all of them.
constexpr std::size_t kQuickTries = 4;

/// Blocks may be aligned to this at most: what the range itself is aligned to.
Bytes range_alignment(const ArenaConfig& config) {
  return Bytes{std::max(config.shape.handle.count, std::bit_floor(config.shape.unit.count))};
}

}  // namespace

Result<Done> check(const ArenaConfig& config) {
  if (!config.shape.is_valid()) return fail(Errc::invalid_argument, "the unit is not a multiple of the handle");
  if (!is_power_of_two(config.alignment.count) || config.alignment < kGranule || config.alignment > config.shape.handle) {
    return fail(Errc::invalid_argument, "the alignment is not a power of two between 512 B and a handle");
  }
  if (config.range.count == 0 || config.range.count % config.shape.handle.count != 0) {
    return fail(Errc::invalid_argument, "the range is not a multiple of the handle");
  }
  if (config.range.count / kGranule.count > kMaxCapacity.count) {
    return fail(Errc::invalid_argument, "the range is longer than a heap can index");
  }
  return Done{};
}

Result<std::unique_ptr<Arena>> Arena::create(const ArenaConfig& config, Backing& backing, UnitSource& units,
                                             Completions* completions) {
  if (const auto good = check(config); !good) return tl::unexpected(good.error());
  auto heap = make_heap(HeapConfig{.capacity = Granules{config.range.count / kGranule.count},
                                   .handle = Granules{config.shape.handle.count / kGranule.count},
                                   .engine = config.engine,
                                   .slabs = config.slabs});
  if (!heap) return tl::unexpected(heap.error());
  const auto base = backing.reserve(config.range, range_alignment(config));
  if (!base) return tl::unexpected(base.error());
  auto* arena = new (std::nothrow) Arena(config, backing, units, completions, *base, std::move(*heap));
  if (arena != nullptr) return std::unique_ptr<Arena>(arena);
  static_cast<void>(backing.free_range(*base, config.range));
  return fail(Errc::no_memory, "the host has no memory for an arena");
}

Arena::Arena(const ArenaConfig& config, Backing& backing, UnitSource& units, Completions* completions, Address base,
             std::unique_ptr<Heap> heap)
    : config_(config),
      granules_per_handle_(config.shape.handle.count / kGranule.count),
      base_(base),
      backing_(backing),
      units_(units),
      completions_(completions),
      heap_(std::move(heap)),
      account_(config.shape) {}

Arena::~Arena() = default;

Granted<Arena::Need> Arena::need_of(const Request& request) const {
  const std::uint64_t granule = kGranule.count;
  const std::uint64_t alignment = std::max(request.alignment.count, config_.alignment.count);
  const auto length = round_up(request.size.count, granule);
  Refusal refusal{Errc::invalid_argument, Rule::bad_request, request.size, {}, {}, {}, {}, {}};
  if (request.size.count == 0 || !is_power_of_two(alignment)) return tl::unexpected(refusal);
  if (alignment > range_alignment(config_).count) {
    refusal.code = Errc::unsupported;
    return tl::unexpected(refusal);
  }
  if (!length || *length > config_.range.count) {
    refusal.code = Errc::over_limit;
    refusal.rule = Rule::address_space;
    return tl::unexpected(refusal);
  }
  return Need{request.size, Granules{*length / granule}, Granules{alignment / granule}, request.ordered, request.call_site};
}

Granted<Block> Arena::take(const Request& request) {
  const Granted<Need> need = need_of(request);
  RankedLock lock(mutex_);
  if (!need) return refuse(Need{request.size, {}, {}, {}, {}}, need.error().code, need.error().rule);
  if (dropped_) return refuse(*need, Errc::driver, Rule::driver);
  try {
    if (const auto taken = take_hole(*need, kQuickTries)) return commit(*need, *taken);
    return take_slow(*need);
  } catch (const std::bad_alloc&) {
    return refuse(*need, Errc::no_memory, Rule::host_memory);
  }
}

std::optional<Taken> Arena::take_hole(const Need& need, std::size_t tries) {
  Result<Taken> taken = heap_->take(need.length, need.alignment);
  const HazardMap& hazards = deferred_.hazards();
  if (!taken || !hazards.conflicts(taken->run, need.ordered)) return taken ? std::optional{*taken} : std::nullopt;
  // What was rejected stays taken until a hole is found, or the heap would offer it again.
  std::vector<Taken> rejected;
  rejected.reserve(tries);
  while (taken && hazards.conflicts(taken->run, need.ordered)) {
    rejected.push_back(*taken);
    taken = rejected.size() == tries ? fail(Errc::no_space) : heap_->take(need.length, need.alignment);
  }
  for (const Taken& one : rejected) static_cast<void>(heap_->give_back(one));
  return taken ? std::optional{*taken} : std::nullopt;
}

Granted<Block> Arena::commit(const Need& need, const Taken& taken) {
  const Bytes given = kGranule * taken.run.length.count;
  const Block block{base_ + kGranule * taken.run.start.count, need.asked,     given,
                    BlockIdentity{identities_.next()},        config_.device, need.call_site};
  if (!records_.insert_carved(AddressMap::Record{block, taken.mark})) {
    static_cast<void>(heap_->give_back(taken));
    return refuse(need, Errc::no_memory, Rule::host_memory);
  }
  HazardMap& hazards = deferred_.hazards();
  const bool in_order = hazards.conflicts(taken.run, {});
  try {
    hazards.clear(taken.run);
  } catch (const std::bad_alloc&) {
    static_cast<void>(records_.erase(block.base));
    static_cast<void>(heap_->give_back(taken));
    return refuse(need, Errc::no_memory, Rule::host_memory);
  }
  handles_.touch(taken.run.start.count / granules_per_handle_, (taken.run.end().count - 1) / granules_per_handle_);
  live_ += given;
  live_asked_ += need.asked;
  peak_live_ = std::max(peak_live_, live_);
  ++counters_.takes;
  if (in_order) ++counters_.reused_in_order;
  asked_.add(need.asked);
  given_.add(given);
  return block;
}

tl::unexpected<Refusal> Arena::refuse(const Need& need, Errc code, Rule rule) {
  ++counters_.refusals;
  const HeapStatistics heap = heap_->statistics();
  Refusal refusal;
  refusal.code = code;
  refusal.rule = rule;
  refusal.asked = need.asked;
  refusal.live = live_;
  refusal.free = kGranule * heap.free.count;
  refusal.largest_free = kGranule * heap.largest_free.count;
  return tl::unexpected(refusal);
}

Result<Freed> Arena::give_back(Address base, FreeAfter after) {
  RankedLock lock(mutex_);
  const Result<AddressMap::Record> record = records_.erase(base);
  if (!record) return tl::unexpected(record.error());
  const Block& block = record->block;
  const Run run{Granules{(base - base_).count / kGranule.count}, Granules{block.given.count / kGranule.count}};
  if (completions_ == nullptr) after = FreeAfter{};
  const Result<DeferredFrees::Noted> noted = return_to_heap(Taken{run, record->mark}, after);
  if (!noted) {
    static_cast<void>(records_.insert_carved(*record));  // needs no memory: it has just been given back
    return tl::unexpected(noted.error());
  }
  live_ -= block.given;
  live_asked_ -= block.size;
  ++counters_.gives;
  if (noted->filled_batch) reclaim(Patience::none);
  return Freed{block, noted->ticket};
}

Result<DeferredFrees::Noted> Arena::return_to_heap(const Taken& taken, FreeAfter after) {
  if (after.kind == FreeAfter::Kind::nothing) {
    const Result<Done> given = heap_->give_back(taken);
    return given ? Result<DeferredFrees::Noted>{} : tl::unexpected(given.error());
  }
  const Result<DeferredFrees::Noted> noted = deferred_.defer(after, taken);
  if (!noted) return noted;
  ++counters_.deferred_gives;
  if (after.kind == FreeAfter::Kind::all) return noted;
  if (const auto given = heap_->give_back(taken); !given) {
    deferred_.hazards().clear(taken.run);
    return tl::unexpected(given.error());
  }
  return noted;
}

std::optional<Block> Arena::find(Address address) const {
  RankedLock lock(mutex_);
  const AddressMap::Record* record = records_.find(address);
  return record == nullptr ? std::nullopt : std::optional{record->block};
}

Result<std::vector<HeldHandle>> Arena::hold(Address base) try {
  RankedLock lock(mutex_);
  const AddressMap::Record* record = records_.find_exact(base);
  if (record == nullptr) return fail(Errc::not_found, "no block begins at this address");
  const std::uint64_t first = (base - base_).count / config_.shape.handle.count;
  const std::uint64_t last = ((base - base_).count + record->block.given.count - 1) / config_.shape.handle.count;
  std::vector<HeldHandle> held;
  held.reserve(last - first + 1);
  for (std::uint64_t position = first; position <= last; ++position) {
    held.push_back(HeldHandle{handles_.at(position), base_ + config_.shape.handle * position});
  }
  std::uint64_t done = first;
  try {
    for (; done <= last; ++done) handles_.hold(done);
  } catch (const std::bad_alloc&) {
    while (done-- > first) handles_.let_go(done);
    throw;
  }
  return held;
} catch (const std::bad_alloc&) {
  return fail(Errc::no_memory, "the host has no memory to note what a peer holds");
}

Result<Done> Arena::let_go(const HeldHandle& held) {
  RankedLock lock(mutex_);
  if (dropped_) return Done{};
  const std::uint64_t position = held.at >= base_ ? (held.at - base_).count / config_.shape.handle.count : ~std::uint64_t{0};
  if (held.handle == kNoHandle || handles_.at(position) != held.handle || !handles_.let_go(position)) {
    return fail(Errc::not_taken, "nobody holds this handle");
  }
  return Done{};
}

Bytes Arena::live() const {
  RankedLock lock(mutex_);
  return live_;
}

bool Arena::is_wholly_free(std::uint64_t position) const {
  const Run run = run_of(Slots{position, 1});
  const Segment segment = heap_->segment_at(run.start);
  return segment.state == State::free && segment.run.end() >= run.end();
}

// Positions that are free from end to end but may not be taken away: a peer holds them, or work may still be using them.
std::vector<std::uint64_t> Arena::tied_positions() const {
  std::vector<std::uint64_t> tied;
  handles_.for_each_held([&](std::uint64_t position) { tied.push_back(position); });
  deferred_.hazards().for_each_conflict({}, [&](Run run) {
    const std::uint64_t last = (run.end().count - 1) / granules_per_handle_;
    for (std::uint64_t position = run.start.count / granules_per_handle_; position <= last; ++position) tied.push_back(position);
  });
  std::sort(tied.begin(), tied.end());
  tied.erase(std::unique(tied.begin(), tied.end()), tied.end());
  std::erase_if(tied, [this](std::uint64_t position) CUPOOL_NO_THREAD_ANALYSIS { return !is_wholly_free(position); });
  return tied;
}

std::uint64_t Arena::free_handles() const {
  return heap_->statistics().free_handles - tied_positions().size();
}

ArenaStats Arena::stats() const {
  RankedLock lock(mutex_);
  const HeapStatistics heap = heap_->statistics();
  const Bytes handle = config_.shape.handle;
  ArenaStats now;
  now.live = live_;
  now.live_asked = live_asked_;
  now.peak_live = peak_live_;
  now.deferred = kGranule * (deferred_.pinned() + deferred_.hazards().granules()).count;
  // Slots of slabs are taken for the heap, so what is free is counted from the other side.
  now.mapped = kGranule * heap.present.count;
  now.in_transit = kGranule * (heap.block_granules - deferred_.pinned()).count - live_;
  now.free = kGranule * (heap.present - heap.block_granules - deferred_.hazards().granules()).count;
  now.created = handle * account_.created();
  now.leased_units = account_.leased();
  now.leased = config_.shape.unit * account_.leased().count;
  now.largest_free = kGranule * heap.largest_free.count;
  now.held_by_peers = handle * handles_.held();
  now.live_blocks = records_.size();
  now.deferred_blocks = deferred_.blocks();
  now.free_runs = heap.free_runs;
  now.mapped_handles = handles_.mapped();
  try {
    now.free_handles = free_handles();
  } catch (const std::bad_alloc&) {
    now.free_handles = 0;  // the figures that need no memory still hold
  }
  now.empty_units = account_.leased() - config_.shape.units_for_handles(
                                            account_.created() - std::min(account_.created(), now.free_handles + loose_.size()));
  now.address_span = handle * handles_.end();
  now.metadata = Bytes{heap.metadata_bytes + handles_.metadata_bytes()} + records_.metadata();
  now.counters = counters_;
  now.asked = asked_;
  now.given = given_;
  return now;
}

bool Arena::is_consistent() const {
  RankedLock lock(mutex_);
  if (!heap_->is_consistent()) return false;
  const HeapStatistics heap = heap_->statistics();
  Bytes live{}, asked{};
  bool backed = true;
  records_.for_each([&](const AddressMap::Record& record) CUPOOL_NO_THREAD_ANALYSIS {
    live += record.block.given;
    asked += record.block.size;
    const std::uint64_t first = (record.block.base - base_).count / config_.shape.handle.count;
    const std::uint64_t last = ((record.block.base - base_).count + record.block.given.count - 1) / config_.shape.handle.count;
    for (std::uint64_t position = first; position <= last; ++position) backed = backed && handles_.is_mapped(position);
  });
  if (!backed || live != live_ || asked != live_asked_) return false;
  if (account_.created() > account_.leased().count * config_.shape.handles_per_unit()) return false;
  if (calls_under_way_ != 0) return true;  // the rest holds between operations
  return account_.created() == handles_.mapped() + loose_.size() &&
         heap.present.count == handles_.mapped() * granules_per_handle_ &&
         kGranule * (heap.block_granules - deferred_.pinned()).count == live_;
}

}  // namespace cupool::pool
