// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/account.h"

#include <algorithm>

namespace cupool::policy {
namespace {

/// How many different priorities of the policy's classes lie below `priority`.
std::uint32_t level_of(const std::vector<ClassTerms>& classes, std::int64_t priority) {
  std::uint32_t below = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int64_t candidate = classes[i].priority;
    const auto same = [candidate](const ClassTerms& other) { return other.priority == candidate; };
    const bool first_of_its_kind = std::none_of(classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(i), same);
    if (candidate < priority && first_of_its_kind) ++below;
  }
  return below;
}

}  // namespace

Rules rules_of(const Terms& terms) {
  const auto is_critical = [](const ClassTerms& rules) { return rules.critical; };
  const bool any_critical = std::any_of(terms.classes.begin(), terms.classes.end(), is_critical);
  std::uint32_t top = 0;
  for (const ClassTerms& rules : terms.classes) top = std::max(top, level_of(terms.classes, rules.priority));
  return {
      .capacity = terms.pool.capacity,
      .static_zone = terms.pool.static_zone,
      .critical_reserve = any_critical ? terms.pool.critical_reserve : Units{0},
      .order = terms.queue.order,
      .aging = terms.queue.aging,
      .bypass = terms.queue.bypass,
      .levels = top + 1,
      .admission = terms.admission,
  };
}

Standing standing_of(const Terms& terms, const JobTerms& job) {
  return {
      .guarantee = std::max(job.rules.guarantee, job.reserve),
      .reserve = job.reserve,
      .limit = job.rules.limit,
      .level = level_of(terms.classes, job.rules.priority),
      .critical = job.rules.critical,
      .on_revoke = job.rules.on_revoke,
      .on_full = job.rules.on_full,
      .max_wait = job.rules.max_wait,
      .max_hold = job.rules.max_hold,
      .weight = job.rules.weight,
  };
}

void count_held(std::span<const std::uint16_t> owner_of_unit, std::span<JobAccount> jobs) {
  for (JobAccount& job : jobs) job.held = Units{0};
  for (const std::uint16_t owner : owner_of_unit) {
    if (owner < jobs.size()) ++jobs[owner].held.count;
  }
}

}  // namespace cupool::policy
