// SPDX-License-Identifier: Apache-2.0
#include "policy/resolve.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

const DeviceFacts kDevice{"GPU-5d1e0000", 0, Bytes{80 * kGiB.count}};
const MachineFacts kMachine{8};

std::string texts(const std::vector<Misfit>& misfits) {
  std::string out;
  for (const Misfit& misfit : misfits) {
    out += (misfit.severity == Misfit::Severity::error ? "error: " : "warning: ") + misfit.pointer + ": " + misfit.text + '\n';
  }
  return out;
}

}  // namespace

TEST_CASE("shares become whole units of the pool, rounded down", "[policy][resolve]") {
  const Policy policy = policy_of(R"({"version": 1, "default_class": "a", "classes": {
    "a": {"guarantee": "40%", "limit": "80%", "critical": true, "priority": 90}, "b": {"limit": "1000MiB"}}})");
  const Resolved resolved = resolve(policy, kDevice, kMachine);
  CHECK(texts(resolved.misfits).empty());
  const PoolTerms& pool = resolved.terms.pool;
  CHECK(pool.capacity == Units{608});  // 95 % of 640
  CHECK(pool.static_zone == Units{364});
  CHECK(pool.critical_reserve == Units{72});
  CHECK(pool.keep == kUnitStep);
  CHECK(resolved.terms.classes[0].guarantee == Units{243});
  CHECK(resolved.terms.classes[0].limit == Units{486});
  CHECK(resolved.terms.classes[1].limit == Units{7});
  CHECK(resolved.terms.admission.max_jobs == 12);
}

TEST_CASE("the entry of devices that says most about a device applies", "[policy][resolve]") {
  const Policy policy =
      policy_of(R"({"version": 1, "devices": {"*": {"capacity": "10%"}, "0": {"capacity": "20%"}, "GPU-": {"capacity": "30%"},
    "GPU-5d": {"capacity": "40%"}, "MIG-": {"capacity": "50%"}}})");
  const auto capacity = [&](const char* uuid, std::uint32_t index) {
    return resolve(policy, {uuid, index, Bytes{100 * kGiB.count}}, kMachine).terms.pool.capacity.count;
  };
  CHECK(capacity("GPU-5d1e", 0) == 320);
  CHECK(capacity("GPU-77", 0) == 240);
  CHECK(capacity("MIG-77", 0) == 400);
  CHECK(capacity("other", 0) == 160);
  CHECK(capacity("other", 3) == 80);
}

TEST_CASE("a selector that names no device present is an error", "[policy][resolve]") {
  const Policy policy = policy_of(R"({"version": 1, "devices": {"*": {}, "0": {}, "GPU-5d1e": {}, "GPU-ffff": {}, "7": {}}})");
  const auto misfits = unknown_devices(policy, {kDevice});
  REQUIRE(misfits.size() == 2);
  CHECK(texts(misfits).find("error: /devices/GPU-ffff: no device here is called GPU-ffff; present: 0 = GPU-5d1e0000") !=
        std::string::npos);
  CHECK(unknown_devices(policy, {}).size() == 4);
}

TEST_CASE("what makes no sense on this device is said, with figures", "[policy][resolve]") {
  struct Case {
    const char* text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {R"({"version": 1, "pool": {"capacity": "100GiB"}})", "warning: /pool/capacity: asks for 100 GiB, but the device has 80 GiB"},
      {R"({"version": 1, "pool": {"unit": "64GiB", "capacity": "70%"}})",
       "error: /pool/capacity: leaves the pool without one unit"},
      {R"({"version": 1, "pool": {"critical_reserve": "40GiB"}, "classes": {"a": {"critical": true}}})",
       "error: /pool/critical_reserve: keeps 40 GiB"},
      {R"({"version": 1, "classes": {"a": {"limit": "0.1%"}}})", "error: /classes/a/limit: 0.1% is less than one unit"},
      {R"({"version": 1, "classes": {"a": {"guarantee": "0.1%"}}})", "warning: /classes/a/guarantee: 0.1% is less than one unit"},
      {R"({"version": 1, "classes": {"a": {"guarantee": "20GiB", "limit": "10%"}}})",
       "error: /classes/a/guarantee: guarantees 20 GiB, above the limit of 7.50 GiB"},
      {R"({"version": 1, "classes": {"a": {"guarantee": "50GiB"}}})",
       "error: /classes/a/guarantee: guarantees 50 GiB, more than the static zone"},
      {R"({"version": 1, "default_class": "a", "classes": {"a": {"guarantee": "30GiB"}, "b": {"guarantee": "40%"}}})",
       "error: /classes: one job of each class is guaranteed"},
      {R"({"version": 1, "jobs": [{"limit": "0.1%"}]})", "error: /jobs/0/limit: 0.1% is less than one unit"},
      {R"({"version": 1, "jobs": [{"reserve": "20GiB", "limit": "10%"}]})",
       "error: /jobs/0/reserve: reserves 20 GiB, above the job's limit"},
      {R"({"version": 1, "jobs": [{"reserve": "50GiB"}]})", "error: /jobs/0/reserve: reserves 50 GiB, more than the static zone"},
  };
  for (const Case& test : cases) {
    const Resolved resolved = resolve(policy_of(test.text), kDevice, kMachine);
    INFO(test.text << '\n' << texts(resolved.misfits) << "wanted: " << test.message);
    CHECK(texts(resolved.misfits).find(test.message) != std::string::npos);
    CHECK(resolved.usable() == std::string_view(test.message).starts_with("warning"));
  }
}

TEST_CASE("a reserve is kept for critical classes only, and by default gives way to the static zone", "[policy][resolve]") {
  const auto reserve = [](const char* text) {
    const Resolved resolved = resolve(policy_of(text), kDevice, kMachine);
    INFO(texts(resolved.misfits));
    CHECK(resolved.usable());
    return resolved.terms.pool.critical_reserve;
  };
  CHECK(reserve(R"({"version": 1, "pool": {"critical_reserve": "10u"}})") == Units{0});
  CHECK(reserve(R"({"version": 1, "classes": {"a": {"critical": true}}, "pool": {"critical_reserve": "10u"}})") == Units{10});
  CHECK(reserve(R"({"version": 1, "classes": {"a": {"critical": true}}, "pool": {"static_zone": "100%"}})") == Units{0});
  CHECK(reserve(R"({"version": 1, "classes": {"a": {"critical": true}}, "devices": {"0": {"static_zone": "100%"}}})") == Units{0});
}

TEST_CASE("an entry raises the guarantee by its reserve and lowers the limit, never the other way", "[policy][resolve]") {
  const Policy policy = policy_of(R"({"version": 1, "classes": {"a": {"guarantee": "10u", "limit": "100u"}}, "jobs": [
    {"match": {"user": "a"}, "reserve": "20u", "serve": "direct"}, {"match": {"user": "b"}, "reserve": "5u", "limit": "8u"}, {"match": {"user": "c"}, "limit": "infinity"}]})");
  const Terms terms = resolve(policy, kDevice, kMachine).terms;
  const JobTerms first = job_terms(terms, 0, &policy.jobs[0]);
  CHECK(first.rules.guarantee == Units{20});
  CHECK(first.reserve == Units{20});
  CHECK(first.serve == Serve::direct);
  const JobTerms second = job_terms(terms, 0, &policy.jobs[1]);
  CHECK(second.rules.limit == Units{8});
  CHECK(second.rules.guarantee == Units{8});
  CHECK(second.reserve == Units{5});
  CHECK(job_terms(terms, 0, &policy.jobs[2]).rules.limit == Units{100});
  CHECK(job_terms(terms, 0, nullptr).rules == terms.classes[0]);
}

TEST_CASE("terms stay within the pool for any sizes and any device", "[policy][resolve]") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto any_size = [&] {
    const Size sizes[] = {Size::bytes(Bytes{random() >> (random() % 64)}),
                          Size::units(random() >> (random() % 64)),
                          {Size::Kind::share, random() % 1'000'001},
                          Size::infinity()};
    return sizes[random() % 4];
  };
  for (int i = 0; i < 20'000; ++i) {
    Policy policy = built_in();
    policy.pool.unit = Size::bytes(kUnitStep * (1 + random() % 8));
    policy.pool.capacity = any_size();
    policy.pool.static_zone = any_size();
    policy.pool.critical_reserve = any_size();
    policy.pool.keep = any_size();
    policy.classes[0].guarantee = any_size();
    policy.classes[0].limit = any_size();
    policy.jobs.emplace_back();
    policy.jobs[0].reserve = any_size();
    policy.jobs[0].limit = any_size();
    const DeviceFacts device{"GPU-0", 0, Bytes{random() >> (random() % 64)}};
    const Resolved resolved = resolve(policy, device, kMachine);
    const PoolTerms& pool = resolved.terms.pool;
    const ClassTerms& rules = resolved.terms.classes[0];
    REQUIRE(pool.unit.count <= UINT64_MAX);
    REQUIRE(pool.capacity.count * pool.unit.count <= device.total.count);
    REQUIRE(pool.static_zone + pool.critical_reserve <= pool.capacity);
    REQUIRE(pool.keep.count <= pool.capacity.count * pool.unit.count);
    REQUIRE(rules.guarantee <= rules.limit);
    REQUIRE(rules.limit <= pool.capacity);
    const JobTerms job = job_terms(resolved.terms, 0, &policy.jobs[0]);
    REQUIRE(job.reserve <= job.rules.guarantee);
    REQUIRE(job.rules.guarantee <= job.rules.limit);
    REQUIRE(job.rules.limit <= rules.limit);
  }
}

}  // namespace cupool::policy
