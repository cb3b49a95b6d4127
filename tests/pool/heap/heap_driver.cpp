// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/heap/heap_driver.h"

#include <algorithm>
#include <bit>

namespace cupool::pool {
namespace {

enum Kind : unsigned {
  kTake = 0,
  kGiveBack = 6,
  kTakeAt = 10,
  kGrow = 11,
  kShrink = 12,
  kWrong = 13,
  kPlace = 14,
  kRest = 15,
  kKinds = 16
};

std::string expected(bool condition, const char* what) {
  return condition ? std::string{} : std::string{what};
}

}  // namespace

HeapDriver::HeapDriver(const HeapConfig& config)
    : config_(config), heap_(std::move(make_heap(config).value())), space_(config.capacity.count, config.handle.count) {}

HeapDriver::Step HeapDriver::decode(std::uint32_t operation) const {
  Step step{};
  step.kind = operation % kKinds;
  std::uint32_t rest = operation / kKinds;
  const std::uint32_t shape = rest % 8;
  rest /= 8;
  // Mostly short, many of a few lengths (slabs need that), sometimes anything up to the whole space.
  const std::uint64_t longest = shape < 3 ? 8 : shape < 5 ? 24 : shape < 7 ? 96 : space_.capacity();
  step.length = 1 + rest % longest;
  if (shape < 3 || shape == 4) step.length = std::bit_ceil(step.length);
  rest /= 97;
  step.alignment = rest % 4 == 0 ? std::uint64_t{1} << (rest / 4 % 6) : 1;
  step.position = rest % space_.capacity();
  return step;
}

std::string HeapDriver::describe(std::uint32_t operation) const {
  static const char* const kNames[kKinds] = {
      "take",      "take",        "take",      "take",    "take", "take",   "give_back",
      "give_back", "give_back",   "give_back", "take_at", "grow", "shrink", "wrong give_back",
      "place",     "list or trim"};
  const Step step = decode(operation);
  return std::string(kNames[step.kind]) + " length " + std::to_string(step.length) + " alignment " +
         std::to_string(step.alignment) + " position " + std::to_string(step.position);
}

std::string HeapDriver::play(std::uint32_t operation) {
  const Step step = decode(operation);
  if (step.kind < kGiveBack) return take(step);
  if (step.kind < kTakeAt) return give_back(step);
  switch (step.kind) {
    case kTakeAt:
      return take_at(step);
    case kGrow:
      return grow(step);
    case kShrink:
      return shrink(step);
    case kWrong:
      return give_back_wrongly(step);
    case kPlace:
      return place(step);
    default:
      return list(step);
  }
}

std::string HeapDriver::accept(const Taken& taken, std::uint64_t length, std::uint64_t alignment) {
  if (!space_.holds(taken.run)) return "a run outside the space";
  if (taken.run.start.count % alignment != 0) return "a run that is not aligned";
  if (taken.run.length.count < length) return "a run that is too short";
  if (!config_.slabs && taken.run.length.count != length) return "a run that is longer than asked for";
  if (!space_.is_all(taken.run, NaiveSpace::kFree)) return "a run that is not free";
  space_.set(taken.run, next_name_++);
  blocks_.push_back(taken);
  return {};
}

bool HeapDriver::must_fit(const NaiveSpace& space, std::uint64_t length, std::uint64_t alignment) const {
  // A buddy block begins at a multiple of the largest power of two in it.
  const std::uint64_t step = config_.engine == Engine::buddy ? std::max(alignment, std::bit_floor(length)) : alignment;
  return space.find_free(length, step).has_value();
}

std::string HeapDriver::take(const Step& step) {
  const Result<Taken> taken = heap_->take(Granules{step.length}, Granules{step.alignment});
  if (taken) {
    saw_slabs_ = saw_slabs_ || (config_.slabs && (taken->mark >> 31) != 0);
    return accept(*taken, step.length, step.alignment);
  }
  if (taken.error().code != Errc::no_space) return "take: a code other than no_space";
  return expected(!must_fit(config_.slabs ? as_described() : space_, step.length, step.alignment),
                  "take: refused although it fits");
}

std::string HeapDriver::take_at(const Step& step) {
  const Run run{Granules{step.position}, Granules{step.length}};
  const Result<Taken> taken = heap_->take_at(run);
  if (!space_.holds(run))
    return expected(!taken && taken.error().code == Errc::invalid_argument, "take_at: accepted a run outside");
  if (taken) {
    if (taken->run != run) return "take_at: another run than asked for";
    return accept(*taken, step.length, 1);
  }
  if (taken.error().code != Errc::no_space) return "take_at: a code other than no_space";
  return expected(!(config_.slabs ? as_described() : space_).is_all(run, NaiveSpace::kFree),
                  "take_at: refused although it is free");
}

std::string HeapDriver::give_back(const Step& step) {
  if (blocks_.empty()) return {};
  std::swap(blocks_[step.position % blocks_.size()], blocks_.back());
  const Taken block = blocks_.back();
  if (!heap_->give_back(block)) return "give_back: refused a block";
  blocks_.pop_back();
  space_.set(block.run, NaiveSpace::kFree);
  const Result<Done> again = heap_->give_back(block);
  return expected(!again && again.error().code == Errc::not_taken, "give_back: accepted a block twice");
}

std::string HeapDriver::give_back_wrongly(const Step& step) {
  Taken wrong{Run{Granules{step.position}, Granules{step.length}}, static_cast<std::uint32_t>(step.position % 64)};
  if (!blocks_.empty()) {
    const Taken& block = blocks_[step.position % blocks_.size()];
    switch (step.length % 4) {
      case 0:
        wrong = Taken{Run{block.run.start + Granules{1}, block.run.length}, block.mark};
        break;
      case 1:
        wrong = Taken{Run{block.run.start, block.run.length + Granules{1}}, block.mark};
        break;
      case 2:
        wrong = Taken{block.run, block.mark ^ (std::uint32_t{1} << (step.position % 32))};
        break;
      default:
        wrong.mark = block.mark;
        break;
    }
  }
  for (const Taken& block : blocks_) {
    if (block.run == wrong.run && block.mark == wrong.mark) return {};
  }
  const Result<Done> done = heap_->give_back(wrong);
  return expected(!done && done.error().code == Errc::not_taken, "give_back: accepted what was not taken");
}

std::string HeapDriver::grow(const Step& step) {
  // Mostly whole handles, as an arena does.
  const std::uint64_t handle = config_.handle.count;
  Run run{Granules{step.position}, Granules{step.length}};
  if (step.length % 4 != 0) run = Run{Granules{step.position / handle * handle}, Granules{(1 + step.length % 3) * handle}};
  const Result<Done> done = heap_->grow(run);
  if (!space_.holds(run)) return expected(!done && done.error().code == Errc::invalid_argument, "grow: accepted a run outside");
  const bool may = space_.is_all(run, NaiveSpace::kAbsent);
  if (done && may) space_.set(run, NaiveSpace::kFree);
  if (done) return expected(may, "grow: accepted what is present");
  return expected(!may && done.error().code == Errc::exists, "grow: refused what is absent");
}

std::string HeapDriver::shrink(const Step& step) {
  const std::uint64_t handle = config_.handle.count;
  Run run{Granules{step.position}, Granules{step.length}};
  if (step.length % 4 != 0) run = Run{Granules{step.position / handle * handle}, Granules{handle}};
  const Result<Done> done = heap_->shrink(run);
  if (!space_.holds(run)) return expected(!done && done.error().code == Errc::invalid_argument, "shrink: accepted a run outside");
  const bool has_absent = space_.has_any(run, NaiveSpace::kAbsent);
  const bool may = space_.is_all(run, NaiveSpace::kFree);
  if (done && may) space_.set(run, NaiveSpace::kAbsent);
  if (done) return expected(may, "shrink: accepted what is not free");
  if (has_absent) return expected(done.error().code == Errc::not_found, "shrink: another code for what is absent");
  if (done.error().code != Errc::busy) return "shrink: another code for what is taken";
  return expected(!as_described().is_all(run, NaiveSpace::kFree), "shrink: refused what is free");
}

std::string HeapDriver::place(const Step& step) {
  const std::uint64_t supply = step.position % 12;
  const Result<Placement> placement = heap_->place(Granules{step.length}, Granules{step.alignment}, supply);
  const NaiveSpace space = config_.slabs ? as_described() : space_;
  const std::optional<std::uint64_t> fewest = space.fewest_missing(step.length, step.alignment, supply);
  if (!placement)
    return expected(!fewest && placement.error().code == Errc::no_space, "place: found nothing although there is a place");
  const Run run = placement->run;
  if (!space.holds(run) || space.has_taken(run) || run.length.count != step.length || run.start.count % step.alignment != 0) {
    return "place: a run that cannot be used";
  }
  if (placement->missing != space.missing(run) || placement->free_handles != space.free_handles(run)) return "place: miscounted";
  return expected(fewest && placement->missing == *fewest, "place: there is a place with fewer missing handles");
}

std::string HeapDriver::list(const Step& step) {
  if (step.position % 2 == 0) {
    heap_->trim();
    return expected(heap_->statistics().empty_slabs == 0, "trim: left an empty slab");
  }
  std::vector<Run> listed;
  if (!heap_->list_free(Granules{step.length}, listed)) return "list_free: failed";
  std::vector<Run> walked;
  for (Granules from; from.count < space_.capacity();) {
    const Result<Run> next = heap_->next_free(from, Granules{step.length});
    if (!next) break;
    walked.push_back(*next);
    from = next->end();
  }
  std::sort(listed.begin(), listed.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  return expected(listed == walked, "list_free and next_free disagree");
}

NaiveSpace HeapDriver::as_described() const {
  NaiveSpace space(space_.capacity(), config_.handle.count);
  for (Granules at; at.count < space_.capacity();) {
    const Segment segment = heap_->segment_at(at);
    if (segment.state != State::absent) space.set(segment.run, segment.state == State::free ? NaiveSpace::kFree : 1);
    at = segment.run.end();
  }
  return space;
}

std::string HeapDriver::recount() {
  if (!heap_->is_consistent()) return "the heap finds itself inconsistent";
  const NaiveSpace described = as_described();
  HeapStatistics count;
  for (std::uint64_t at = 0; at < space_.capacity(); ++at) {
    const int truth = space_.at(at);
    const int told = described.at(at);
    if ((truth == NaiveSpace::kAbsent) != (told == NaiveSpace::kAbsent))
      return "described as absent what is present, or the reverse";
    if (truth > NaiveSpace::kFree && told == NaiveSpace::kFree) return "described as free what a block has";
    if (!config_.slabs && truth == NaiveSpace::kFree && told != NaiveSpace::kFree) return "described as taken what is free";
    if (told == NaiveSpace::kFree) ++count.free.count;
    if (told > NaiveSpace::kFree) ++count.taken.count;
  }
  Segment before;
  for (Granules at; at.count < space_.capacity();) {
    const Segment segment = heap_->segment_at(at);
    if (segment.state == State::free) {
      ++count.free_runs;
      count.largest_free = std::max(count.largest_free, segment.run.length);
      const bool neighbours = before.state == State::free;
      const bool buddies = before.run.length == segment.run.length && before.run.start.count % (2 * segment.run.length.count) == 0;
      if (neighbours && (config_.engine == Engine::tlsf || buddies)) return "free neighbours that did not merge";
    }
    before = segment;
    at = segment.run.end();
  }
  for (const Taken& block : blocks_) count.block_granules += block.run.length;
  const HeapStatistics told = heap_->statistics();
  saw_slabs_ = saw_slabs_ || told.slabs != 0;
  if (told.present != count.free + count.taken || told.free != count.free || told.taken != count.taken)
    return "statistics: granules";
  if (told.free_runs != count.free_runs || told.largest_free != count.largest_free) return "statistics: free runs";
  if (told.blocks != blocks_.size() || told.block_granules != count.block_granules) return "statistics: blocks";
  if (told.free_handles != described.free_handles(Run{Granules{0}, Granules{space_.capacity()}})) return "statistics: free handles";
  return expected(told.free_handles == heap_->free_handles(), "statistics: two counts of free handles");
}

std::string HeapDriver::drain() {
  while (!blocks_.empty()) {
    if (!heap_->give_back(blocks_.back())) return "drain: refused a block";
    space_.set(blocks_.back().run, NaiveSpace::kFree);
    blocks_.pop_back();
  }
  heap_->trim();
  const HeapStatistics told = heap_->statistics();
  if (told.taken.count != 0 || told.slabs != 0) return "drain: something is still taken";
  return recount();
}

}  // namespace cupool::pool
