// SPDX-License-Identifier: Apache-2.0
#include "policy/validate.h"

#include <catch2/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

struct Case {
  const char* text;
  const char* message;  ///< of an error or warning, with its severity and pointer; empty: nothing is wrong
};

/// What is said about keys that this version does not act on yet is not the subject here.
std::string without_later_keys(const std::string& texts) {
  std::istringstream lines(texts);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("does not act on it yet") == std::string::npos) kept += line + '\n';
  }
  return kept;
}

}  // namespace

TEST_CASE("values that do not fit together are refused at their place", "[policy][validate]") {
  const std::vector<Case> cases = {
      // Sums over the static zone, in shares and in bytes; mixed sums wait for a device.
      {R"({"version": 1, "default_class": "a", "classes": {"a": {"guarantee": "30%"}, "b": {"guarantee": "30%"}}})", ""},
      {R"({"version": 1, "default_class": "a", "classes": {"a": {"guarantee": "30%"}, "b": {"guarantee": "30.0001%"}}})",
       "error: /classes: one job of each class is guaranteed 60.0001% together"},
      {R"({"version": 1, "pool": {"static_zone": "4GiB"}, "default_class": "a", "classes": {"a": {"guarantee": "3GiB"}, "b": {"guarantee": "9u"}}})",
       "error: /classes: one job of each class"},
      {R"({"version": 1, "pool": {"static_zone": "4GiB"}, "default_class": "a", "classes": {"a": {"guarantee": "3GiB"}, "b": {"guarantee": "8u"}}})",
       ""},
      {R"({"version": 1, "default_class": "a", "classes": {"a": {"guarantee": "50%"}, "b": {"guarantee": "3GiB"}}})", ""},
      {R"({"version": 1, "classes": {"a": {"guarantee": "16777215TiB"}}, "pool": {"static_zone": "16777215TiB"}})", ""},
      // A guarantee and its limit.
      {R"({"version": 1, "classes": {"a": {"guarantee": "40%", "limit": "40%"}}})", ""},
      {R"({"version": 1, "classes": {"a": {"guarantee": "3u", "limit": "256MiB"}}})",
       "error: /classes/a/guarantee: 3u is above the limit of 256MiB"},
      {R"({"version": 1, "classes": {"a": {"guarantee": "60%", "limit": "infinity"}}})", ""},
      {R"({"version": 1, "classes": {"a": {"guarantee": "1MiB"}}})",
       "warning: /classes/a/guarantee: 1MiB is less than one unit of 128MiB"},
      {R"({"version": 1, "pool": {"unit": "1GiB"}, "classes": {"a": {"limit": "512MiB"}}})",
       "error: /classes/a/limit: 512MiB is less than one unit of 1GiB"},
      // Zones.
      {R"({"version": 1, "pool": {"static_zone": "88%"}})", ""},
      {R"({"version": 1, "pool": {"static_zone": "89%"}})", ""},
      {R"({"version": 1, "pool": {"static_zone": "89%", "critical_reserve": "12%"}})",
       "error: /pool/critical_reserve: 12% and the static zone of 89%"},
      {R"({"version": 1, "pool": {"capacity": "8GiB", "static_zone": "9GiB"}})",
       "error: /pool/static_zone: 9GiB is more than the capacity of 8GiB"},
      {R"({"version": 1, "pool": {"capacity": "8GiB", "static_zone": "6GiB", "critical_reserve": "3GiB"}, "classes": {"a": {"critical": true}}})",
       "error: /pool/critical_reserve: 3GiB and the static zone of 6GiB are more than the whole pool; the reserve can be 2GiB at "
       "most"},
      {R"({"version": 1, "pool": {"critical_reserve": "12%"}})", "warning: /pool/critical_reserve: no class is critical"},
      {R"({"version": 1, "pool": {"critical_reserve": "0%"}})", ""},
      // Classes by name.
      {R"({"version": 1, "classes": {"a": {}, "b": {}}})", "error: /default_class: is missing"},
      {R"({"version": 1, "classes": {"a": {}}})", ""},
      {R"({"version": 1, "classes": {"a": {}}, "default_class": "b"})", "error: /default_class: no class is called \"b\""},
      {R"({"version": 1, "jobs": [{"class": "standrad"}]})",
       "error: /jobs/0/class: no class is called \"standrad\"; did you mean \"standard\"?"},
      // Entries.
      {R"({"version": 1, "jobs": [{"match": {"user": "a"}}, {"match": {"user": "a"}}]})",
       "warning: /jobs/1: never applies, because entry 0 has the same match"},
      {R"({"version": 1, "jobs": [{}, {"match": {"user": "a"}}]})",
       "warning: /jobs/1: never applies, because entry 0 matches every job"},
      {R"({"version": 1, "jobs": [{"match": {"user": "a"}}, {}]})", ""},
      {R"({"version": 1, "classes": {"a": {"limit": "2GiB"}}, "jobs": [{"limit": "3GiB"}]})",
       "warning: /jobs/0/limit: 3GiB is above the limit of class a"},
      {R"({"version": 1, "classes": {"a": {"limit": "2GiB"}}, "jobs": [{"reserve": "3GiB"}]})",
       "error: /jobs/0/reserve: 3GiB is above the job's limit of 2GiB"},
      {R"({"version": 1, "jobs": [{"reserve": "3GiB", "limit": "2GiB"}]})",
       "error: /jobs/0/reserve: 3GiB is above the job's limit of 2GiB"},
      {R"({"version": 1, "jobs": [{"reserve": "1MiB"}]})", "warning: /jobs/0/reserve: 1MiB is less than one unit"},
      {R"({"version": 1, "jobs": [{"limit": "1MiB"}]})", "error: /jobs/0/limit: 1MiB is less than one unit"},
      {R"({"version": 1, "jobs": [{"match": {"user": "a"}, "reserve": "40%"}, {"match": {"user": "b"}, "reserve": "40%"}]})",
       "warning: /jobs: the reserves of all entries"},
      // Devices differ in their own way.
      {R"({"version": 1, "devices": {"0": {"static_zone": "90%"}}})", ""},
      {R"({"version": 1, "pool": {"critical_reserve": "12%"}, "classes": {"a": {"critical": true}}, "devices": {"0": {"static_zone": "90%"}}})",
       "error: /devices/0/critical_reserve: 12% and the static zone of 90%"},
      {R"({"version": 1, "devices": {"0": {"static_zone": "90%", "critical_reserve": "10%"}}})", ""},
      {R"({"version": 1, "devices": {"GPU-5D": {"capacity": "64MiB"}}})",
       "error: /devices/GPU-5D/capacity: 64MiB is less than one unit"},
  };
  for (const Case& test : cases) {
    const Loaded loaded = load(test.text);
    const std::string texts = without_later_keys(problem_texts(loaded.problems));
    INFO(test.text << '\n' << texts << "wanted: " << test.message);
    if (*test.message == '\0') {
      CHECK(texts.empty());
    } else {
      CHECK(texts.find(test.message) != std::string::npos);
      CHECK(loaded.policy.has_value() == std::string_view(test.message).starts_with("warning"));
    }
  }
}

TEST_CASE("everything that is wrong is said at once, in the order of the text", "[policy][validate]") {
  const std::string text = R"({
    "version": 1, "defrg": {},
    "pool": { "unit": "100MiB", "heap": "slab" },
    "classes": { "a": { "limit": "10GB", "guarantee": "80%" } },
    "jobs": [ { "class": "b" } ],
    "default_class": "c"
  })";
  const Loaded loaded = load(text);
  CHECK(loaded.problems.errors() == 7);
  std::size_t last = 0;
  for (const Problem& problem : loaded.problems.list()) {
    CHECK(problem.where.begin >= last);
    last = problem.where.begin;
  }
}

TEST_CASE("what may be left out is filled in", "[policy][validate]") {
  const Policy policy = policy_of(R"({"version": 1, "classes": {"only": {}}})");
  CHECK(policy.default_class == "only");
  CHECK(policy_of(R"({"version": 1})").default_class == "standard");
}

}  // namespace cupool::policy
