// SPDX-License-Identifier: Apache-2.0
#include "policy/host/governance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/policy/host/folder.h"

namespace cupool::policy::host {
namespace {

using State = Governance::State;

/// A machine of its own: /etc and a home, and a user who may or may not be the one that owns the system's files.
struct Machine {
  Folder folder;
  Places places{folder.at("etc"), folder.at("home"), 1000};
  Settings settings;
  std::optional<std::string> named, wanted_class;

  Governance read() const { return read_governance(settings, named, wanted_class, places); }
};

std::string policy_with_limit(const char* units) {
  return std::string(R"({"version": 1, "classes": {"standard": {"limit": ")") + units + R"("}}})";
}

/// Files of a test belong to whoever runs it; as root they are the system's, as anybody else they cannot be.
bool is_root() {
  if (geteuid() == 0) return true;
  WARN("SKIPPED: only root can write files that bind");
  return false;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("with no file at all the built-in policy applies", "[policy][host]") {
  const Machine machine;
  const Governance governance = machine.read();
  CHECK(governance.state == State::governed);
  CHECK(governance.layers.governing.name == "built-in");
  CHECK(governance.layers.governing.policy == built_in());
  CHECK_FALSE(governance.layers.governing_binds);
}

TEST_CASE("a name goes before the variable, the variable before the user's file", "[policy][host]") {
  Machine machine;
  const std::string users = machine.folder.write("home/policy.json", policy_with_limit("1u"));
  CHECK(machine.read().layers.governing.name == users);
  const std::string labs = machine.folder.write("home/policies/lab.json", policy_with_limit("2u"));
  machine.settings.policy = "lab";
  CHECK(machine.read().layers.governing.name == labs);
  machine.named = machine.folder.write("mine.json", policy_with_limit("3u"));
  CHECK(machine.read().layers.governing.name == *machine.named);
  CHECK(machine.read().layers.governing.policy.classes[0].limit == Size::units(3));
}

TEST_CASE("a bare name is looked up in the user's and then the system's folder", "[policy][host]") {
  Machine machine;
  machine.named = "night";
  CHECK(candidates_for("night", machine.places) ==
        std::vector<std::string>{machine.folder.at("home/policies/night.json"), machine.folder.at("etc/policies/night.json")});
  CHECK(candidates_for("a/b", machine.places) == std::vector<std::string>{"a/b"});
  CHECK(candidates_for("b.json", machine.places) == std::vector<std::string>{"b.json"});
  const std::string systems = machine.folder.write("etc/policies/night.json", policy_with_limit("1u"));
  CHECK(machine.read().layers.governing.name == systems);
  const std::string users = machine.folder.write("home/policies/night.json", policy_with_limit("2u"));
  CHECK(machine.read().layers.governing.name == users);
}

TEST_CASE("a named policy that cannot be used stops, with the reason", "[policy][host]") {
  Machine machine;
  machine.named = "/nowhere/lab.json";
  CHECK(machine.read().state == State::broken);
  CHECK(contains(machine.read().reason, "/nowhere/lab.json (--policy) was not found"));
  machine.named.reset();
  machine.settings.policy = "night";
  CHECK(contains(machine.read().reason,
                 "night (CUPOOL_POLICY) was not found; looked for " + machine.folder.at("home/policies/night.json")));
  machine.settings.policy = "no such\x1b";
  CHECK(contains(machine.read().reason, "a bare name has"));
  machine.settings.policy = machine.folder.write("bad.json", R"({"version": 1, "pool": {"unit": "1MB"}})");
  CHECK(machine.read().state == State::broken);
  CHECK(contains(machine.read().reason, "bad.json:1:33: error: /pool/unit: \"1MB\" is ambiguous"));
  machine.settings.policy = machine.folder.path() + "/.";
  CHECK(contains(machine.read().reason, "is a directory"));
}

TEST_CASE("an installed policy that cannot be used stops as well, and is never passed over", "[policy][host]") {
  Machine machine;
  machine.folder.write("home/policy.json", "{");
  CHECK(machine.read().state == State::broken);
  machine.folder.write("home/policy.json", policy_with_limit("1u"));
  machine.folder.write("etc/policy.json", "[]");
  CHECK(machine.read().state == State::broken);
  CHECK(contains(machine.read().reason, "etc/policy.json:1:1: error: a policy is an object"));
}

TEST_CASE("the system's policy governs and binds; the user's only tightens", "[policy][host]") {
  if (!is_root()) return;
  Machine machine;
  const std::string systems = machine.folder.write("etc/policy.json", policy_with_limit("10u"));
  const std::string users = machine.folder.write("home/policy.json", policy_with_limit("20u"));
  chmod(systems.c_str(), 0644);
  const Governance governance = machine.read();
  CHECK(governance.layers.governing.name == systems);
  CHECK(governance.layers.governing_binds);
  REQUIRE(governance.layers.own.has_value());
  CHECK(governance.layers.own->name == users);
}

TEST_CASE("off is honoured only where nothing binds", "[policy][host]") {
  Machine machine;
  machine.settings.wants_off = true;
  CHECK(machine.read().state == State::off);
  if (!is_root()) return;
  machine.settings.wants_open = true;
  const std::string systems = machine.folder.write("etc/policy.json", policy_with_limit("10u"));
  chmod(systems.c_str(), 0644);
  const Governance governance = machine.read();
  CHECK(governance.state == State::governed);
  REQUIRE(governance.notes.size() == 2);
  CHECK(contains(governance.notes[0], "CUPOOL=off is ignored"));
  CHECK(contains(governance.notes[1], "CUPOOL_ON_ERROR=open is ignored"));
}

TEST_CASE("a file that root owns binds when it is chosen, unless the user is root", "[policy][host]") {
  if (!is_root()) return;
  Machine machine;
  machine.settings.wants_off = true;
  machine.named = machine.folder.write("a.json", policy_with_limit("1u"));
  chmod(machine.named->c_str(), 0644);
  CHECK(machine.read().layers.governing_binds);
  CHECK(machine.read().state == State::governed);
  machine.places.user = 0;
  CHECK_FALSE(machine.read().layers.governing_binds);
  CHECK(machine.read().state == State::off);
}

TEST_CASE("a system file that others could have written is refused", "[policy][host]") {
  if (!is_root()) return;
  Machine machine;
  const std::string systems = machine.folder.write("etc/policy.json", policy_with_limit("1u"));
  chmod(systems.c_str(), 0666);
  CHECK(machine.read().state == State::broken);
  CHECK(contains(machine.read().reason, "chmod go-w"));
  chmod(systems.c_str(), 0644);
  REQUIRE(chown(systems.c_str(), 4242, 4242) == 0);
  CHECK(contains(machine.read().reason, "belongs to user 4242, not to root"));
  machine.places.user = 4242;
  const Governance governance = machine.read();
  CHECK(governance.state == State::governed);
  CHECK_FALSE(governance.layers.governing_binds);
  CHECK(governance.notes.size() == 1);
}

TEST_CASE("a changed file is used, and a broken one leaves the old policy in force", "[policy][host]") {
  Machine machine;
  machine.named = machine.folder.write("a.json", policy_with_limit("1u"));
  Governance governance = machine.read();
  const auto renew = [&] { return refresh(governance, machine.settings, machine.named, machine.wanted_class, machine.places); };
  const auto limit = [&] { return governance.layers.governing.policy.classes[0].limit; };
  CHECK_FALSE(changed(governance));
  CHECK_FALSE(renew().has_value());

  machine.folder.write("a.json", policy_with_limit("22u"));
  CHECK(changed(governance));
  CHECK_FALSE(renew().has_value());
  CHECK(limit() == Size::units(22));

  machine.folder.write("a.json", R"({"version": 1, "classes": {)");
  const auto reason = renew();
  REQUIRE(reason.has_value());
  CHECK(contains(*reason, "half-written"));
  CHECK(limit() == Size::units(22));
  CHECK(governance.state == State::governed);
  // Said once, not at every allocation.
  CHECK_FALSE(renew().has_value());

  std::filesystem::remove(machine.folder.at("a.json"));
  CHECK(contains(renew().value_or(""), "was not found"));
  CHECK(limit() == Size::units(22));

  machine.folder.write("a.json", policy_with_limit("333u"));
  CHECK_FALSE(renew().has_value());
  CHECK(limit() == Size::units(333));
}

TEST_CASE("a policy that appears where one was looked for is noticed", "[policy][host]") {
  const Machine machine;
  Governance governance = machine.read();
  CHECK_FALSE(changed(governance));
  machine.folder.write("home/policy.json", policy_with_limit("1u"));
  CHECK(changed(governance));
  CHECK_FALSE(refresh(governance, machine.settings, {}, {}, machine.places).has_value());
  CHECK(governance.layers.governing.policy.classes[0].limit == Size::units(1));
}

TEST_CASE("warnings of a policy and the class that is asked for are handed on", "[policy][host]") {
  Machine machine;
  machine.named = machine.folder.write("a.json", R"({"version": 1, "time_slice": {"mode": "off"}})");
  machine.settings.class_name = "from_env";
  CHECK(machine.read().layers.wanted_class == "from_env");
  CHECK(machine.read().notes.size() == 1);
  machine.wanted_class = "from_flag";
  CHECK(machine.read().layers.wanted_class == "from_flag");
}

TEST_CASE("places follow XDG, which asks for absolute paths", "[policy][host]") {
  CHECK(places_of({{"HOME", "/h"}}).user_directory == "/h/.config/cupool");
  CHECK(places_of({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}}).user_directory == "/x/cupool");
  CHECK(places_of({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "x"}}).user_directory == "/h/.config/cupool");
  CHECK(places_of({}).user_directory.empty());
  CHECK(places_of({{"HOME", "rel"}}).user_directory.empty());
  CHECK(state_directory_of({{"HOME", "/h"}}) == "/h/.local/state");
  CHECK(state_directory_of({{"XDG_STATE_HOME", "/s"}}) == "/s");
  CHECK(places_of({}).system_directory == "/etc/cupool");
}

}  // namespace cupool::policy::host
