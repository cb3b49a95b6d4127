// SPDX-License-Identifier: Apache-2.0
#include "pool/beside.h"

#include <algorithm>

namespace cupool::pool {

const char* to_text(BesideKind kind) {
  switch (kind) {
    case BesideKind::context:
      return "context";
    case BesideKind::module:
      return "module";
    case BesideKind::managed:
      return "managed";
    case BesideKind::array:
      return "array";
    case BesideKind::own_vmm:
      return "own_vmm";
    case BesideKind::direct:
      return "direct";
  }
  return "unknown";
}

void BesideAccount::add(BesideKind kind, Bytes bytes) {
  BesideStats::Kind& one = kinds_[static_cast<std::size_t>(kind)];
  one.now += bytes;
  one.peak = std::max(one.peak, one.now);
  ++one.charges;
  total_ += bytes;
}

tl::expected<Done, BesideAccount::Lacking> BesideAccount::charge(BesideKind kind, Bytes bytes) {
  RankedLock lock(mutex_);
  while (true) {
    const auto sum = checked_add(total_.count, bytes.count);
    if (!sum) return tl::unexpected(Lacking{Units{0}, {Errc::over_limit, Rule::job_limit}});
    if (Bytes{*sum} <= shape_.unit * leased_.count) break;
    const Units lacking = units_covering(total_ + bytes, shape_.unit) - leased_;
    lock.unlock();
    const auto leased = units_.lease(lacking, lacking);
    lock.lock();
    if (!leased) return tl::unexpected(Lacking{lacking, leased.error()});
    leased_ += *leased;  // another charge may use them first: then the loop asks for more
  }
  add(kind, bytes);
  lock.unlock();
  give_up_surplus();
  return Done{};
}

void BesideAccount::charge_anyway(BesideKind kind, Bytes bytes) {
  {
    RankedLock lock(mutex_);
    add(kind, bytes);
  }
  cover();
}

void BesideAccount::cover() {
  RankedLock lock(mutex_);
  const Units needed = units_covering(total_, shape_.unit);
  if (leased_ >= needed) return;
  const Units lacking = needed - leased_;
  lock.unlock();
  const auto leased = units_.lease(Units{0}, lacking);
  lock.lock();
  if (leased) leased_ += *leased;
  lock.unlock();
  give_up_surplus();
}

void BesideAccount::credit(BesideKind kind, Bytes bytes) {
  {
    RankedLock lock(mutex_);
    BesideStats::Kind& one = kinds_[static_cast<std::size_t>(kind)];
    const Bytes credited = std::min(bytes, one.now);
    one.now -= credited;
    ++one.credits;
    total_ -= credited;
  }
  give_up_surplus();
}

void BesideAccount::drop() {
  {
    RankedLock lock(mutex_);
    for (BesideStats::Kind& one : kinds_) one.now = Bytes{0};
    total_ = Bytes{0};
  }
  give_up_surplus();
}

void BesideAccount::give_up_surplus() {
  Units surplus{};
  {
    RankedLock lock(mutex_);
    const Units needed = units_covering(total_, shape_.unit);
    if (leased_ > needed) surplus = leased_ - needed;
    leased_ -= surplus;
  }
  if (surplus.count != 0) units_.give_up(surplus);
}

Bytes BesideAccount::total() const {
  RankedLock lock(mutex_);
  return total_;
}

BesideStats BesideAccount::stats() const {
  RankedLock lock(mutex_);
  const Bytes covered = shape_.unit * leased_.count;
  return BesideStats{kinds_, total_, leased_, total_ > covered ? total_ - covered : Bytes{0}};
}

void BesideAccount::count_refusal(BesideKind kind) {
  RankedLock lock(mutex_);
  ++kinds_[static_cast<std::size_t>(kind)].refusals;
}

}  // namespace cupool::pool
