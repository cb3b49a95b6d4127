// SPDX-License-Identifier: Apache-2.0
#include "policy/match.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "policy/pattern.h"
#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

Identity ana() {
  Identity identity;
  identity.user = "ana";
  identity.uid = 1000;
  identity.groups = {{1000, "ana"}, {2000, "ml"}};
  identity.command = {"/usr/bin/python3", "serve.py", "--port", "80"};
  identity.program = "/usr/bin/python3.11";
  identity.cgroup = "/system.slice/slurm/job_7";
  identity.cwd = "/home/ana/x";
  identity.env = {{"SLURM_JOB_PARTITION", "prod"}};
  return identity;
}

bool applies(const char* match, const Identity& identity = ana()) {
  const std::string text = std::string(R"({"version": 1, "jobs": [{"match": )") + match + "}]}";
  return match_job(policy_of(text), identity).entry.has_value();
}

}  // namespace

TEST_CASE("patterns know star, question mark and nothing else", "[policy][match]") {
  CHECK(fits("", ""));
  CHECK(fits("*", ""));
  CHECK(fits("*", "a/b c"));
  CHECK(fits("a*c", "abc"));
  CHECK(fits("a*c", "ac"));
  CHECK(fits("a*b*c", "aXbYbZc"));
  CHECK(fits("*.py", "x.py.py"));
  CHECK(fits("?", "\xC3\xA4"));
  CHECK(fits("[a]", "[a]"));
  CHECK_FALSE(fits("", "a"));
  CHECK_FALSE(fits("?", ""));
  CHECK_FALSE(fits("a*c", "abd"));
  CHECK_FALSE(fits("[a]", "a"));
  CHECK_FALSE(fits("abc", "ABC"));
  // A pattern made to be slow stays quick: the product of both lengths at most.
  CHECK_FALSE(fits(std::string(200, '*') + std::string(200, 'a') + "b", std::string(4000, 'a')));
}

TEST_CASE("each condition holds for its fact and fails for another", "[policy][match]") {
  CHECK(applies(R"({"command": "*serve.py*"})"));
  CHECK(applies(R"({"command": "python3"})"));
  CHECK(applies(R"({"command": "python3.11"})"));
  CHECK_FALSE(applies(R"({"command": "serve.py"})"));
  CHECK(applies(R"({"user": "ana"})"));
  CHECK(applies(R"({"user": "1000"})"));
  CHECK(applies(R"({"user": ["bo", "an?"]})"));
  CHECK_FALSE(applies(R"({"user": "bo"})"));
  CHECK(applies(R"({"group": "ml"})"));
  CHECK(applies(R"({"group": "2000"})"));
  CHECK_FALSE(applies(R"({"group": "wheel"})"));
  CHECK(applies(R"({"cgroup": "*/slurm/*"})"));
  CHECK_FALSE(applies(R"({"cgroup": "/user.slice/*"})"));
  CHECK(applies(R"({"cwd": "/home/ana*"})"));
  CHECK_FALSE(applies(R"({"cwd": "/home/bo*"})"));
  CHECK(applies(R"({"env": {"SLURM_JOB_PARTITION": ["test", "prod"]}})"));
  CHECK_FALSE(applies(R"({"env": {"SLURM_JOB_PARTITION": "test"}})"));
  CHECK_FALSE(applies(R"({"env": {"NOT_SET": "*"}})"));
  CHECK(applies(R"({"user": "ana", "command": "*serve*"})"));
  CHECK_FALSE(applies(R"({"user": "ana", "command": "*train*"})"));
  CHECK(applies("{}"));
}

TEST_CASE("what is not known fits no pattern", "[policy][match]") {
  Identity unknown;
  unknown.uid = 4;
  for (const char* match : {R"({"command": "*"})", R"({"cgroup": "*"})", R"({"cwd": "*"})", R"({"group": "*"})"}) {
    INFO(match);
    CHECK_FALSE(applies(match, unknown));
  }
  CHECK(applies(R"({"user": "4"})", unknown));
}

TEST_CASE("the first entry that applies decides, and says why", "[policy][match]") {
  const Policy policy = policy_of(R"({"version": 1, "default_class": "low", "classes": {"low": {}, "high": {}},
    "jobs": [{"match": {"user": "bo"}, "class": "low"}, {"match": {"user": "ana", "cwd": "/home/*"}, "class": "high"}, {"match": {"user": "ana"}}]})");
  const JobMatch match = match_job(policy, ana());
  CHECK(match.entry == 1U);
  CHECK(policy.classes[match.class_index].name == "high");
  CHECK(match.reason == R"(entry 1 of jobs: user "ana" fits "ana", cwd "/home/ana/x" fits "/home/*")");
  CHECK(match_entry(policy.jobs[0].match, ana()).reason == R"(user "ana", not "bo")");
}

TEST_CASE("where no entry applies, the default class does", "[policy][match]") {
  const Policy policy = policy_of(
      R"({"version": 1, "default_class": "b", "classes": {"a": {}, "b": {}}, "jobs": [{"match": {"user": "bo"}, "class": "a"}]})");
  const JobMatch match = match_job(policy, ana());
  CHECK_FALSE(match.entry.has_value());
  CHECK(match.class_index == 1);
  CHECK(match.reason == "the default class: no entry of jobs applies");
}

TEST_CASE("names of users and groups are asked for only when a pattern is no number", "[policy][match]") {
  const auto needs = [](const char* match) {
    return identity_needs(policy_of(std::string(R"({"version": 1, "jobs": [{"match": )") + match + "}]}"));
  };
  CHECK_FALSE(needs("{}").user_name);
  CHECK_FALSE(needs(R"({"user": ["1", "22"]})").user_name);
  CHECK(needs(R"({"user": ["1", "ana"]})").user_name);
  CHECK_FALSE(needs(R"({"user": "ana"})").group_names);
  CHECK(needs(R"({"group": "m*"})").group_names);
}

}  // namespace cupool::policy
