// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "policy/decide/account.h"

/// Where a request stands in the queue: rules 2 and 3 of decide.h.
namespace cupool::policy {

enum class Tier : std::uint8_t { guarantee, borrow };

/// Whether `asked` more units stay within what is guaranteed to the job.
Tier tier_of(const JobAccount& job, Units asked);

/// Units held beyond the guarantee.
constexpr std::uint64_t borrowed(const JobAccount& job) {
  return job.held > job.standing.guarantee ? (job.held - job.standing.guarantee).count : 0;
}

/// Borrowed units per weight in 65,536ths, the measure of weighted max-min fairness. Weights count from 1 to kMaxWeight.
inline constexpr std::uint64_t kMaxWeight = 1 << 16;
std::uint64_t share_of(std::uint64_t borrowed_units, std::uint64_t weight);

/// Smaller is served earlier. Total over requests with different tickets.
struct RankKey {
  std::uint64_t tier_and_level = 0;
  std::uint64_t by_order = 0;
  std::uint64_t ticket = 0;
  constexpr auto operator<=>(const RankKey&) const = default;
};

/// The class level with what aging adds: `aging` passings over are worth one level.
std::uint64_t aged_level(const Rules& rules, std::uint32_t level, std::uint64_t passed_over);

RankKey rank_of(const Rules& rules, const JobAccount& job, const Request& request);

/// The same for a job that wants to start; there is one tier, and it has borrowed nothing.
RankKey rank_of_arrival(const Rules& rules, std::uint32_t level, std::uint64_t passed_over, Instant wait_end, std::uint64_t ticket);

}  // namespace cupool::policy
