// SPDX-License-Identifier: Apache-2.0
#include "policy/host/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "policy/host/identity.h"

namespace cupool::policy::host {

TEST_CASE("settings are taken from the environment", "[policy][host]") {
  const Settings settings = read_settings({{"CUPOOL", "off"},
                                           {"CUPOOL_POLICY", "lab"},
                                           {"CUPOOL_JOB", "train.1"},
                                           {"CUPOOL_CLASS", "batch"},
                                           {"CUPOOL_LOG", "debug"},
                                           {"CUPOOL_REPORT", "%p.json"},
                                           {"CUPOOL_ON_ERROR", "open"},
                                           {"PATH", "/bin"}});
  CHECK(settings.wants_off);
  CHECK(settings.wants_open);
  CHECK(settings.policy == "lab");
  CHECK(settings.job == "train.1");
  CHECK(settings.class_name == "batch");
  CHECK(settings.log == log::Level::debug);
  CHECK(settings.report == "%p.json");
  CHECK(settings.warnings.empty());
}

TEST_CASE("an unknown variable is one warning with a suggestion", "[policy][host]") {
  const Settings settings = read_settings({{"CUPOOL_POLCY", "lab"}});
  REQUIRE(settings.warnings.size() == 1);
  CHECK(settings.warnings[0] == "CUPOOL_POLCY is unknown and ignored; did you mean \"CUPOOL_POLICY\"?");
  CHECK_FALSE(settings.policy.has_value());
}

TEST_CASE("values that cannot be meant are ignored with a warning, and shown safely", "[policy][host]") {
  const Settings settings = read_settings({{"CUPOOL", "maybe"},
                                           {"CUPOOL_LOG", "loud"},
                                           {"CUPOOL_JOB", "../x"},
                                           {"CUPOOL_ON_ERROR", "ajar"},
                                           {"CUPOOL_POLICY", std::string(1'000'000, 'a')},
                                           {"CUPOOL_CLASS", "a\nb"},
                                           {"CUPOOL_REPORT", "\x1b[31m"}});
  CHECK(settings.warnings.size() == 7);
  for (const std::string& warning : settings.warnings) {
    CHECK(warning.size() < 300);
    CHECK(std::none_of(warning.begin(), warning.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  CHECK_FALSE((settings.wants_off || settings.wants_open || settings.policy || settings.class_name || settings.job ||
               settings.log || settings.report));
}

TEST_CASE("empty values and the simulator's and tests' own variables are passed over", "[policy][host]") {
  const Settings settings =
      read_settings({{"CUPOOL", ""}, {"CUPOOL_POLICY", ""}, {"CUPOOL_SIM_PLAN", "x"}, {"CUPOOL_TEST_LONG", "1"}, {"CUPOOLX", "1"}});
  CHECK(settings.warnings.empty());
  CHECK_FALSE(settings.policy.has_value());
}

TEST_CASE("this process's environment and identity are read", "[policy][host]") {
  setenv("CUPOOL_TEST_MARK", "here", 1);
  const Environment environment = process_environment();
  CHECK(std::count(environment.begin(), environment.end(), std::pair<std::string, std::string>{"CUPOOL_TEST_MARK", "here"}) == 1);
  const Identity identity = read_identity(environment, {true, true});
  CHECK(identity.uid == geteuid());
  CHECK_FALSE(identity.user.empty());
  CHECK_FALSE(identity.groups.empty());
  REQUIRE_FALSE(identity.command.empty());
  CHECK(identity.program.find("policy_host_test") != std::string::npos);
  CHECK(identity.cwd.front() == '/');
  CHECK(read_identity(environment, {}).user.empty());
  const Identity other = identity_for({"python", "a b.py"}, environment, {});
  CHECK(other.command == std::vector<std::string>{"python", "a b.py"});
  CHECK(other.program == "python");
  CHECK(read_machine().physical_cores >= 1);
}

TEST_CASE("the control group is the unified one's, else systemd's, else the first", "[policy][host]") {
  CHECK(cgroup_path("0::/user.slice/a\n") == "/user.slice/a");
  CHECK(cgroup_path("12:cpu:/c\n1:name=systemd:/s:x\n") == "/s:x");
  CHECK(cgroup_path("12:cpu,cpuacct:/c\n11:memory:/m\n") == "/c");
  CHECK(cgroup_path("12:cpu:/c\n0::/u\n") == "/u");
  CHECK(cgroup_path("") == "");
  CHECK(cgroup_path("garbage\n:\n") == "");
}

}  // namespace cupool::policy::host
