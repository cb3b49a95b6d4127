// SPDX-License-Identifier: Apache-2.0
#include "policy/layers.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

const DeviceFacts kDevice{"GPU-0", 0, Bytes{100 * kGiB.count}};
const MachineFacts kMachine{8};

constexpr const char* kSystem = R"({"version": 1, "pool": {"capacity": "100%"}, "default_class": "standard",
  "classes": {"standard": {"priority": 50, "limit": "400u", "guarantee": "40u", "max_wait": "30s", "max_hold": "10m"},
              "critical": {"priority": 100, "limit": "600u", "guarantee": "80u", "critical": true},
              "batch": {"priority": 10, "limit": "100u", "max_wait": "10s", "max_hold": "1m", "guarantee": "0u"}},
  "jobs": [{"match": {"user": "ana"}, "class": "critical"}], "report": {"path": "/system.json"}})";

Layers layered(const char* own, bool binds = true) {
  Layers layers;
  layers.governing = {"/etc/policy.json", policy_of(kSystem)};
  layers.governing_binds = binds;
  if (own != nullptr) layers.own = NamedPolicy{"own.json", policy_of(own)};
  return layers;
}

Identity user(const char* name) {
  Identity identity;
  identity.user = name;
  return identity;
}

Composed composed(const Layers& layers, const char* name = "bo") {
  return compose(layers, user(name), kDevice, kMachine);
}

}  // namespace

TEST_CASE("an own policy that asks for less gets it", "[policy][layers]") {
  const Composed result = composed(
      layered(R"({"version": 1, "classes": {"mine": {"limit": "50u", "priority": 5, "max_wait": "1s", "on_full": "deny"}}})"));
  CHECK(result.clips.empty());
  CHECK(result.job.rules.limit == Units{50});
  CHECK(result.job.rules.priority == 5);
  CHECK(result.job.rules.max_wait == kSecond);
  CHECK(result.job.rules.on_full == OnFull::deny);
  // The class stays one of the pool's.
  CHECK(result.terms.classes[result.job.class_index].name == "standard");
}

TEST_CASE("an own policy that asks for more is clipped, and each clip says so", "[policy][layers]") {
  const Composed result = composed(layered(R"({"version": 1, "pool": {"capacity": "100%"}, "classes": {"mine":
    {"limit": "800u", "guarantee": "300u", "priority": 1000, "critical": true, "max_wait": "9m", "weight": 7, "max_hold": "365d"}},
    "jobs": [{"reserve": "200u"}]})"));
  CHECK(result.job.rules.limit == Units{400});
  CHECK(result.job.rules.guarantee == Units{40});
  CHECK(result.job.rules.priority == 50);
  CHECK_FALSE(result.job.rules.critical);
  CHECK(result.job.rules.max_wait == Duration{30 * kSecond.ns});
  CHECK(result.job.rules.max_hold == Duration{600 * kSecond.ns});
  CHECK(result.job.rules.weight == 1);
  CHECK(result.job.reserve == Units{0});
  REQUIRE(result.clips.size() == 8);
  CHECK(result.clips[1].text == "limit: own.json asks for 100 GiB, /etc/policy.json allows 50 GiB: 50 GiB applies");
}

TEST_CASE("what the own policy does not state costs nothing", "[policy][layers]") {
  const Composed result = composed(layered(R"({"version": 1, "report": {"path": "/mine.json"}})"), "ana");
  CHECK(result.clips.empty());
  CHECK(result.job.rules == result.terms.classes[1]);
  CHECK(result.report.path == "/mine.json");
  CHECK(composed(layered(R"({"version": 1})")).report.path == "/system.json");
}

TEST_CASE("the pool's own rules are never the own policy's", "[policy][layers]") {
  const Composed result = composed(layered(
      R"({"version": 1, "pool": {"unit": "1GiB", "capacity": "1GiB"}, "admission": {"max_jobs": 1}, "queue": {"aging": 0}})"));
  CHECK(result.terms == composed(layered(nullptr)).terms);
}

TEST_CASE("the class that a binding policy assigns bounds the one that is asked for", "[policy][layers]") {
  Layers layers = layered(nullptr);
  layers.wanted_class = "batch";
  Composed result = composed(layers);
  CHECK(result.clips.empty());
  CHECK(result.terms.classes[result.job.class_index].name == "batch");
  CHECK(result.job.rules == result.terms.classes[2]);

  layers.wanted_class = "critical";
  result = composed(layers);
  CHECK(result.terms.classes[result.job.class_index].name == "standard");
  CHECK(result.job.rules.limit == Units{400});
  CHECK_FALSE(result.job.rules.critical);
  CHECK_FALSE(result.clips.empty());

  layers.governing_binds = false;
  result = composed(layers);
  CHECK(result.terms.classes[result.job.class_index].name == "critical");
  CHECK(result.job.rules == result.terms.classes[1]);
}

TEST_CASE("a class that does not exist is an error, not the default class", "[policy][layers]") {
  Layers layers = layered(nullptr);
  layers.wanted_class = "crtical";
  const Composed result = composed(layers);
  CHECK_FALSE(result.usable());
  CHECK(result.misfits.back().text ==
        R"(the class "crtical" that this job asks for is not in /etc/policy.json; did you mean "critical"?)");
}

TEST_CASE("a class of the own policy can be asked for", "[policy][layers]") {
  Layers layers = layered(R"({"version": 1, "default_class": "a", "classes": {"a": {"limit": "10u"}, "b": {"limit": "20u"}}})");
  layers.wanted_class = "b";
  const Composed result = composed(layers);
  CHECK(result.usable());
  CHECK(result.job.rules.limit == Units{20});
}

TEST_CASE("no own policy ever gets more than the binding one gives", "[policy][layers]") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto any_terms = [&] {
    JobTerms job;
    job.class_index = random() % 3;
    ClassTerms& rules = job.rules;
    rules.priority = static_cast<std::int64_t>(random() % 4);
    rules.limit = Units{random() % 5};
    rules.guarantee = Units{random() % (rules.limit.count + 1)};
    rules.critical = random() % 2 == 0;
    rules.max_wait = Duration{random() % 3};
    rules.on_full = static_cast<OnFull>(random() % 2);
    rules.on_revoke = static_cast<OnRevoke>(random() % 2);
    rules.weight = 1 + random() % 3;
    if (random() % 3 != 0) rules.max_hold = Duration{random() % 3};
    job.reserve = Units{random() % (rules.guarantee.count + 1)};
    return job;
  };
  for (int i = 0; i < 20'000; ++i) {
    const JobTerms bound = any_terms();
    const JobTerms wanted = any_terms();
    std::vector<Clip> clips;
    const JobTerms got = tighten(bound, wanted, "a", "b", kUnitStep, clips);
    REQUIRE(got.rules.priority <= bound.rules.priority);
    REQUIRE(got.rules.limit <= bound.rules.limit);
    REQUIRE(got.rules.guarantee <= bound.rules.guarantee);
    REQUIRE(got.rules.guarantee <= got.rules.limit);
    REQUIRE(got.reserve <= bound.reserve);
    REQUIRE(got.reserve <= got.rules.guarantee);
    REQUIRE((bound.rules.critical || !got.rules.critical));
    REQUIRE(got.rules.max_wait <= bound.rules.max_wait);
    REQUIRE(got.rules.on_full >= bound.rules.on_full);
    REQUIRE(got.rules.on_revoke >= bound.rules.on_revoke);
    REQUIRE(got.rules.weight <= bound.rules.weight);
    REQUIRE((!bound.rules.max_hold || (got.rules.max_hold && *got.rules.max_hold <= *bound.rules.max_hold)));
    // Asking again for what one got is granted without a clip.
    std::vector<Clip> none;
    REQUIRE(tighten(bound, got, "a", "b", kUnitStep, none).rules == got.rules);
    REQUIRE(none.empty());
  }
}

}  // namespace cupool::policy
