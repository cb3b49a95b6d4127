// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "policy/decide/account.h"
#include "policy/load.h"

using namespace cupool;
using namespace cupool::policy;

namespace {

Terms terms_of(const char* text) {
  const Loaded loaded = load(text);
  REQUIRE(loaded.policy);
  const Resolved resolved =
      resolve(*loaded.policy, {.uuid = "GPU-0", .index = 0, .total = Bytes{80 * kGiB.count}}, {.physical_cores = 8});
  REQUIRE(resolved.usable());
  return resolved.terms;
}

constexpr const char* kThreeClasses =
    R"({"version": 1, "default_class": "b", "queue": {"order": "arrival", "aging": 3, "bypass": 5},
  "classes": {"a": {"priority": 70, "critical": true, "guarantee": "10%", "limit": "50%", "weight": 3},
              "b": {"priority": 20, "max_hold": "1m", "on_revoke": "park"}, "c": {"priority": 20}, "d": {"priority": 5}}})";

}  // namespace

TEST_CASE("rules are those of the resolved policy", "[policy][decide]") {
  const Terms terms = terms_of(kThreeClasses);
  const Rules rules = rules_of(terms);
  CHECK(rules.capacity == terms.pool.capacity);
  CHECK(rules.static_zone == terms.pool.static_zone);
  CHECK(rules.critical_reserve == terms.pool.critical_reserve);
  CHECK(rules.order == QueueOrder::arrival);
  CHECK(rules.aging == 3);
  CHECK(rules.bypass == 5);
  CHECK(rules.levels == 3);
  CHECK(rules.admission.max_jobs == 12);
}

TEST_CASE("levels count the different priorities below a class's own", "[policy][decide]") {
  const Terms terms = terms_of(kThreeClasses);
  const auto level = [&](std::size_t index) { return standing_of(terms, job_terms(terms, index, nullptr)).level; };
  CHECK(level(0) == 2);
  CHECK(level(1) == 1);
  CHECK(level(2) == 1);
  CHECK(level(3) == 0);
}

TEST_CASE("no reserve is kept where no class is critical", "[policy][decide]") {
  CHECK(rules_of(terms_of(R"({"version": 1})")).critical_reserve == Units{0});
}

TEST_CASE("a job's standing holds its own terms, its reserve part of its guarantee", "[policy][decide]") {
  const Terms terms = terms_of(kThreeClasses);
  JobRule rule;
  rule.reserve = Size::units(100);
  const Standing standing = standing_of(terms, job_terms(terms, 0, &rule));
  CHECK(standing.guarantee == Units{100});
  CHECK(standing.reserve == Units{100});
  CHECK(standing.limit == terms.classes[0].limit);
  CHECK(standing.critical);
  CHECK(standing.weight == 3);
  CHECK(standing_of(terms, job_terms(terms, 1, nullptr)).on_revoke == OnRevoke::park);
  CHECK(standing_of(terms, job_terms(terms, 1, nullptr)).max_hold == Duration{60 * kSecond.ns});
}

TEST_CASE("a wait that would end after the end of time never ends", "[policy][decide]") {
  CHECK(after(Instant{5}, Duration{kNever.ns}) == kNever);
  CHECK(after(Instant{5}, Duration{7}) == Instant{12});
}
