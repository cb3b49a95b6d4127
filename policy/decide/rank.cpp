// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/rank.h"

#include <algorithm>

namespace cupool::policy {
namespace {

constexpr std::uint64_t kBorrowBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kTopLevel = kBorrowBit - 1;

/// What the policy's order compares after tier and level; smaller is served earlier.
std::uint64_t order_key(QueueOrder order, std::uint64_t share, Instant wait_end) {
  switch (order) {
    case QueueOrder::priority:
      return share;
    case QueueOrder::arrival:
      return 0;
    case QueueOrder::earliest_deadline:
      return wait_end.ns;
    case QueueOrder::latest_deadline:
      return ~wait_end.ns;
  }
  return 0;
}

std::uint64_t level_key(const Rules& rules, std::uint32_t level, std::uint64_t passed_over) {
  if (rules.order == QueueOrder::arrival) return 0;
  return kTopLevel - std::min(aged_level(rules, level, passed_over), kTopLevel);
}

}  // namespace

Tier tier_of(const JobAccount& job, Units asked) {
  const auto total = checked_add(job.held.count, asked.count);
  return total && *total <= job.standing.guarantee.count ? Tier::guarantee : Tier::borrow;
}

std::uint64_t share_of(std::uint64_t borrowed_units, std::uint64_t weight) {
  const std::uint64_t per = std::clamp<std::uint64_t>(weight, 1, kMaxWeight);
  // A division of 32 bits takes a fraction of the time, and this is done for every waiter.
  if (borrowed_units < kMaxWeight) return static_cast<std::uint32_t>(borrowed_units * kMaxWeight) / static_cast<std::uint32_t>(per);
  return std::min(borrowed_units, std::uint64_t{1} << 40) * kMaxWeight / per;
}

std::uint64_t aged_level(const Rules& rules, std::uint32_t level, std::uint64_t passed_over) {
  if (rules.aging == 0 || passed_over < rules.aging) return level;
  return checked_add(level, passed_over / rules.aging).value_or(kTopLevel);
}

RankKey rank_of(const Rules& rules, const JobAccount& job, const Request& request) {
  const std::uint64_t tier = tier_of(job, request.units) == Tier::guarantee ? 0 : kBorrowBit;
  const std::uint64_t by_order = rules.order == QueueOrder::priority ? share_of(borrowed(job), job.standing.weight)
                                                                     : order_key(rules.order, 0, wait_ends(request, job.standing));
  return {tier | level_key(rules, job.standing.level, request.passed_over), by_order, request.ticket};
}

RankKey rank_of_arrival(const Rules& rules, std::uint32_t level, std::uint64_t passed_over, Instant wait_end,
                        std::uint64_t ticket) {
  return {level_key(rules, level, passed_over), order_key(rules.order, 0, wait_end), ticket};
}

}  // namespace cupool::policy
