// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/earmarks.h"

#include <algorithm>

#include "policy/decide/zones.h"

namespace cupool::policy {
namespace {

Earmarks::Kept kept_for(const JobAccount& job, const Request& request) {
  const Standing& standing = job.standing;
  // What is set aside for the job's reservation is kept anyway.
  const Units reserved = standing.reserve - std::min(standing.reserve, job.held);
  const Units returned = std::min(request.returned, request.units);
  const std::int64_t kept = signed_units(returned - std::min(returned, reserved));
  if (!standing.critical) return {.plain = kept, .reserve = 0};
  // The guaranteed part of a request that goes beyond the guarantee does not come out of the reserve (Zones::lacking).
  const Units within = standing.guarantee - std::min(standing.guarantee, job.held);
  const std::int64_t beside = within < request.units ? std::min(kept, signed_units(within)) : 0;
  return {.plain = beside, .reserve = kept - beside};
}

}  // namespace

Earmarks::Earmarks(const Account& account, Instant now) {
  for (const Request& request : account.waiting) {
    if (request.returned.count == 0 || request.job >= account.jobs.size()) continue;
    const JobAccount& job = account.jobs[request.job];
    if (wait_ends(request, job.standing) > now)
      marks_[count_++] = {request.ticket, tier_of(job, request.units), kept_for(job, request)};
  }
}

std::int64_t Earmarks::all() const {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < count_; ++i) sum += marks_[i].kept.plain + marks_[i].kept.reserve;
  return sum;
}

Earmarks::Kept Earmarks::against(std::uint64_t ticket, Tier tier) const {
  Kept sum;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (marks_[i].ticket == ticket || (tier == Tier::guarantee && marks_[i].tier == Tier::borrow)) continue;
    sum.plain += marks_[i].kept.plain;
    sum.reserve += marks_[i].kept.reserve;
  }
  return sum;
}

void Earmarks::use(std::uint64_t ticket, std::int64_t units) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (marks_[i].ticket != ticket) continue;
    Kept& kept = marks_[i].kept;
    const std::int64_t of_reserve = std::min(units, kept.reserve);
    kept.reserve -= of_reserve;
    kept.plain -= std::min(units - of_reserve, kept.plain);
  }
}

}  // namespace cupool::policy
