// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/arena_driver.h"

#include <algorithm>

namespace cupool::pool {
namespace {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

StreamWorld::Positions StreamWorld::needed(FreeAfter after) const {
  Positions positions{};
  if (after.kind == FreeAfter::Kind::all) positions = submitted;
  if (after.kind == FreeAfter::Kind::stream) {
    const auto stream = static_cast<std::size_t>(after.stream);
    positions[stream] = submitted[stream];
  }
  return positions;
}

bool StreamWorld::is_past(const Positions& positions) const {
  for (std::size_t i = 0; i < kStreams; ++i) {
    if (completed[i] < positions[i]) return false;
  }
  return true;
}

Result<Token> StreamWorld::mark(FreeAfter after) {
  if (capturing) return fail(Errc::busy);
  tokens_[next_] = needed(after);
  return Token{next_++};
}

bool StreamWorld::is_done(Token token) {
  const auto found = tokens_.find(static_cast<std::uint64_t>(token));
  if (found == tokens_.end()) ++faults;
  return found == tokens_.end() || is_past(found->second);
}

Result<Done> StreamWorld::wait(Token token) {
  if (capturing || !may_wait) return fail(Errc::busy);
  const auto found = tokens_.find(static_cast<std::uint64_t>(token));
  if (found == tokens_.end()) {
    ++faults;
    return Done{};
  }
  for (std::size_t i = 0; i < kStreams; ++i) completed[i] = std::max(completed[i], found->second[i]);
  return Done{};
}

void StreamWorld::forget(Token token) {
  faults += 1 - tokens_.erase(static_cast<std::uint64_t>(token));
}

ArenaDriver::ArenaDriver(const Setting& setting)
    : setting_(setting), units_(Units{setting.limit_units}), limit_(setting.limit_units) {
  arena_ = Arena::create(setting_.config, backing_, units_, &world_).value();
}

std::string ArenaDriver::describe(std::uint32_t operation) {
  static constexpr std::array kNames{"take",   "free",      "give back units", "settle",      "set limit", "hold",
                                     "let go", "work done", "calls fail",      "device full", "may wait",  "bad free"};
  static constexpr std::array<std::size_t, 32> kKinds{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1,  1,
                                                      1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  return std::string(kNames[kKinds[operation % 32]]) + " " + std::to_string(operation / 32);
}

std::string ArenaDriver::play(std::uint32_t operation) {
  const std::uint32_t kind = operation % 32, parameter = operation / 32;
  if (kind < 12) return take(parameter);
  if (kind < 22) return give_back(parameter);
  switch (kind) {
    case 22: {
      const Units before = units_.leased();
      const Units returned = arena_->give_back_units(Units{parameter % 4});
      return returned + units_.leased() == before ? "" : "give_back_units returned another number than it gave up";
    }
    case 23:
      arena_->settle();
      return "";
    case 24:
      limit_ = parameter % (setting_.limit_units + 1);
      units_.set_limit(Units{limit_});
      return "";
    case 25:
      return hold(parameter);
    case 26:
      return let_go(parameter);
    case 27:
      for (std::size_t i = 0; i < StreamWorld::kStreams; ++i) {
        if ((parameter >> i & 1U) != 0) world_.completed[i] = world_.submitted[i];
      }
      if (parameter % 16 == 0) arena_->poll();
      return "";
    case 28: {
      failing_ = parameter % 3 != 0;
      const auto repeat = parameter % 3 == 1 ? fakes::FailingBacking::Repeat::once : fakes::FailingBacking::Repeat::from_then_on;
      backing_.fail_call(failing_ ? 1 + parameter / 6 % 20 : 0, parameter / 3 % 2 == 0 ? Errc::driver : Errc::no_memory, repeat);
      return "";
    }
    case 29:
      capacity_ = parameter % 2 == 0 ? Bytes{0} : setting_.config.shape.handle * (1 + parameter / 2 % 40);
      counting_.set_capacity(capacity_);
      return "";
    case 30:
      world_.capturing = parameter % 4 == 1;
      world_.may_wait = parameter % 4 != 2;
      return "";
    default:
      return bad_free(parameter);
  }
}

Bytes ArenaDriver::size_of(std::uint32_t parameter) const {
  const std::uint64_t handle = setting_.config.shape.handle.count;
  const std::uint64_t fine = parameter / 8 * 2654435761U % 1000003;
  switch (parameter % 8) {
    case 0:
      return Bytes{1 + fine % 4096};
    case 1:
      return Bytes{1 + fine * 37 % (1 << 20)};
    case 2:
      return Bytes{1 + fine * 7919 % handle};
    case 3:
      return Bytes{handle * (1 + fine % 4)};
    case 4:
      return Bytes{handle / 2 + fine * 7919 % (handle * 3)};
    case 5:
      return Bytes{handle * (1 + fine % 12) - fine % 3 * 512};
    case 6:
      return Bytes{handle * (1 + fine % 24)};
    default:
      return Bytes{1 + fine * 999983 % (setting_.config.shape.unit.count * setting_.limit_units)};
  }
}

std::string ArenaDriver::take(std::uint32_t parameter) {
  const std::uint32_t flavour = parameter % 8;
  std::vector<StreamOrder> orders;
  if (flavour >= 4 && flavour < 7) orders.push_back({StreamId{flavour - 4}, kEveryFree});
  if (flavour == 3 && !pending_.empty()) {
    const Pending& some = pending_[parameter % pending_.size()];
    orders.push_back({some.after.stream, some.ticket});
  }
  Request request{DeviceId{0}, size_of(parameter / 8), {}, orders, CallSite{parameter}};
  if (flavour == 2) request.alignment = Bytes{std::uint64_t{1} << (9 + parameter % 12)};
  const ArenaStats before = arena_->stats();
  const auto block = arena_->take(request);
  const std::string fault = block ? check_new(*block, request) : check_refusal(request, block.error(), before);
  if (backing_.has_failed() && parameter % 2 == 0) {
    backing_.fail_call(0);
    failing_ = false;
  }
  return fault;
}

std::string ArenaDriver::check_new(const Block& block, const Request& request) {
  const std::uint64_t begin = block.base.value, end = begin + block.given.count;
  if (block.size != request.size || block.given < block.size) return "a block of another size";
  if (begin % std::max<std::uint64_t>(512, request.alignment.count) != 0) return "a misaligned block";
  if (static_cast<std::uint64_t>(block.identity) <= last_identity_) return "an identity that is not new";
  last_identity_ = static_cast<std::uint64_t>(block.identity);
  const auto next = live_.lower_bound(begin);
  if (next != live_.end() && next->first < end) return "overlaps a live block";
  if (next != live_.begin() && std::prev(next)->first + std::prev(next)->second.block.given.count > begin)
    return "overlaps a live block";
  std::vector<Pending> kept;
  for (const Pending& one : pending_) {
    if (world_.is_past(one.positions)) continue;
    if (one.end <= begin || end <= one.begin) {
      kept.push_back(one);
      continue;
    }
    const bool in_order = one.after.kind == FreeAfter::Kind::stream &&
                          std::any_of(request.ordered.begin(), request.ordered.end(), [&](const StreamOrder& order) {
                            return order.stream == one.after.stream && one.ticket <= order.last;
                          });
    if (!in_order) return "memory at " + hex(one.begin) + " that work may still be using was handed out";
    Pending left = one, right = one;
    left.end = begin;
    right.begin = end;
    if (left.begin < left.end) kept.push_back(left);
    if (right.begin < right.end) kept.push_back(right);
  }
  pending_ = std::move(kept);
  if (!counting_.is_mapped(block.base, block.given)) return "a block that is not backed";
  live_[begin] = Live{block, handles_under(block.base, block.given)};
  return "";
}

std::string ArenaDriver::check_refusal(const Request& request, const Refusal& refusal, const ArenaStats& before) {
  const ArenaStats now = arena_->stats();
  if (now.live != before.live || now.live_blocks != before.live_blocks) return "a refusal that changed what is live";
  if (refusal.rule == Rule::bad_request || refusal.rule == Rule::host_memory) return "a refusal without cause";
  if (is_disturbed()) return "";
  // A block could lie in fresh address space: as many handles as it touches there must not all be obtainable.
  const std::uint64_t handle = setting_.config.shape.handle.count, per_unit = setting_.config.shape.handles_per_unit();
  const std::uint64_t needed = (request.size.count + handle - 1) / handle;
  const std::uint64_t created = now.created.count / handle;
  std::uint64_t may_exist = std::max(now.leased_units.count, limit_) * per_unit;
  if (capacity_.count != 0) may_exist = std::min(may_exist, std::max(created, capacity_.count / handle));
  const std::uint64_t loose = created - now.mapped_handles;
  if (needed * handle <= limit_ * per_unit * handle && needed <= now.free_handles + loose + (may_exist - created) &&
      request.alignment.count <= handle) {
    return "refused by " + std::string(to_text(refusal.rule)) + " although enough handles can be had";
  }
  return "";
}

std::string ArenaDriver::give_back(std::uint32_t parameter) {
  if (live_.empty()) return "";
  auto it = live_.begin();
  std::advance(it, parameter / 8 % live_.size());
  FreeAfter after;
  if (parameter % 8 < 2) after = FreeAfter{FreeAfter::Kind::all, {}};
  if (parameter % 8 >= 2 && parameter % 8 < 5) after = FreeAfter{FreeAfter::Kind::stream, StreamId{parameter % 8 - 2}};
  world_.submit(parameter % StreamWorld::kStreams);
  const auto freed = arena_->give_back(it->second.block.base, after);
  if (!freed) return "the free of a live block was refused";
  if (freed->block.identity != it->second.block.identity) return "another block was freed";
  if (after.kind != FreeAfter::Kind::nothing) {
    const std::uint64_t begin = it->first;
    pending_.push_back(Pending{begin, begin + it->second.block.given.count, after, freed->ticket, world_.needed(after),
                               it->second.handles, begin});
  }
  live_.erase(it);
  return "";
}

std::string ArenaDriver::bad_free(std::uint32_t parameter) {
  Address wrong{arena_->base().value + std::uint64_t{parameter} * 512};
  if (parameter % 2 == 0 && !live_.empty()) wrong = live_.begin()->second.block.base + Bytes{512 + parameter % 7 * 512};
  if (live_.contains(wrong.value)) return "";
  const auto freed = arena_->give_back(wrong, FreeAfter{});
  return !freed && freed.error().code == Errc::not_taken ? "" : "a free of no block was accepted";
}

std::string ArenaDriver::hold(std::uint32_t parameter) {
  if (live_.empty() || held_.size() > 12) return "";
  auto it = live_.begin();
  std::advance(it, parameter % live_.size());
  const auto held = arena_->hold(it->second.block.base);
  if (!held) return "a live block could not be held";
  held_.insert(held_.end(), held->begin(), held->end());
  return "";
}

std::string ArenaDriver::let_go(std::uint32_t parameter) {
  if (held_.empty()) return "";
  std::swap(held_[parameter % held_.size()], held_.back());
  const bool gone = arena_->let_go(held_.back()).has_value();
  held_.pop_back();
  return gone ? "" : "a held handle could not be let go";
}

std::vector<HandleId> ArenaDriver::handles_under(Address base, Bytes length) const {
  std::vector<HandleId> handles;
  const std::uint64_t handle = setting_.config.shape.handle.count;
  const std::uint64_t first = base.value / handle * handle;
  for (std::uint64_t at = first; at < base.value + length.count; at += handle) handles.push_back(counting_.handle_at(Address{at}));
  return handles;
}

std::string ArenaDriver::recount() {
  if (!arena_->is_consistent()) return "the arena's books do not agree";
  if (counting_.faults() != 0) return "a rule of the backing was broken";
  if (world_.faults != 0) return "a forgotten mark was used";
  const ArenaStats now = arena_->stats();
  if (now.live + now.deferred + now.in_transit + now.free != now.mapped) return "the snapshot does not add up";
  if (now.in_transit != Bytes{0}) return "something stayed in transit";
  if (now.created != counting_.created() || now.mapped != counting_.mapped()) return "handles were lost";
  if (now.leased_units != units_.leased()) return "units were lost";
  if (now.created > now.leased) return "more handles than leased";
  Bytes live{};
  for (const auto& [base, one] : live_) {
    live += one.block.given;
    if (handles_under(one.block.base, one.block.given) != one.handles)
      return "a handle changed under the live block at " + hex(base);
    const auto found = arena_->find(one.block.base + Bytes{one.block.given.count - 1});
    if (!found || found->identity != one.block.identity) return "a live block is not found";
  }
  if (live != now.live || live_.size() != now.live_blocks) return "live bytes are miscounted";
  for (const Pending& one : pending_) {
    if (world_.is_past(one.positions)) continue;
    const std::uint64_t handle = setting_.config.shape.handle.count;
    for (std::uint64_t at = one.begin / handle * handle; at < one.end; at += handle) {
      const std::size_t index = at / handle - one.first / handle;
      if (counting_.handle_at(Address{at}) != one.handles[index]) return "a handle changed under pending work at " + hex(at);
    }
  }
  for (const HeldHandle& one : held_) {
    if (counting_.handle_at(one.at) != one.handle) return "a held handle was moved";
  }
  return "";
}

std::string ArenaDriver::drain() {
  backing_.fail_call(0);
  counting_.set_capacity({});
  world_.capturing = false;
  world_.may_wait = true;
  for (const auto& [base, one] : live_) {
    if (!arena_->give_back(one.block.base, FreeAfter{FreeAfter::Kind::all, {}})) return "a live block could not be freed";
  }
  live_.clear();
  for (const HeldHandle& one : held_) {
    if (!arena_->let_go(one)) return "a held handle could not be let go";
  }
  if (!arena_->close()) return "the arena could not be closed";
  if (!counting_.is_empty()) return "something is left on the device";
  if (units_.leased() != Units{0}) return "units are left";
  return world_.faults == 0 ? "" : "a forgotten mark was used";
}

}  // namespace cupool::pool
