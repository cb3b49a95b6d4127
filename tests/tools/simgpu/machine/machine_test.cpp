// SPDX-License-Identifier: Apache-2.0
//
// The simulated machine as several processes see it: account, death, start and end, privacy.
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/tools/simgpu/machine/child.h"
#include "tests/tools/simgpu/machine/driver_roles.h"
#include "tools/simgpu/client/connection.h"

namespace cupool::simgpu::test {
namespace {

constexpr std::uint64_t kTotal = 1024 * kMiB;

Environment one_gib(const Environment& more = {}) {
  Environment settings{{"SIMGPU_GPUS", "a100"}, {"SIMGPU_MEMORY", "1GiB"}, {"SIMGPU_CONTEXT_MEMORY", "32MiB"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Looks at a machine from outside; keeps it alive.
struct Observer {
  explicit Observer(const MachineDirectory& machine) {
    for (const auto& [name, value] : machine.environment()) setenv(name.c_str(), value.c_str(), 1);
    std::string message;
    const auto opened = connection.open(machine.path(), protocol::Role::observer, "", "", message);
    INFO(message);
    REQUIRE(opened);
  }
  std::uint64_t used() {
    const auto usage = connection.usage(0);
    REQUIRE(usage);
    return usage->used;
  }
  /// Waits for what must come about by itself: at most a few seconds, then the test fails.
  bool comes_to(std::uint64_t bytes) {
    for (int i = 0; i < 500; ++i) {
      if (used() == bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  Connection connection;
};

std::string hold_line(Child& child) {
  return child.line();
}

}  // namespace

TEST_CASE("capacity is shared by all processes and charged as asked", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  Child first{"hold", {std::to_string(600 * kMiB)}, machine.environment()};
  REQUIRE(hold_line(first) == "0");
  CHECK(observer.used() == 632 * kMiB);
  Child second{"hold", {std::to_string(400 * kMiB)}, machine.environment()};
  CHECK(hold_line(second) == "2");
  Child third{"hold", {std::to_string(320 * kMiB)}, machine.environment()};
  CHECK(hold_line(third) == "0");
  CHECK(observer.used() == (600 + 320 + 3 * 32) * kMiB);
  const auto processes = observer.connection.processes(0);
  REQUIRE(processes);
  CHECK(processes->size() == 3);
}

TEST_CASE("a killed process's memory is free as soon as it is dead", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  Child child{"hold", {std::to_string(700 * kMiB)}, machine.environment()};
  REQUIRE(hold_line(child) == "0");
  child.kill();
  CHECK(child.wait() == -SIGKILL);
  CHECK(observer.used() == 0);
}

TEST_CASE("a dead process's memory can stay charged for a while", "[simgpu][machine]") {
  MachineDirectory machine{one_gib({{"SIMGPU_GIVE_BACK", "400ms"}})};
  Observer observer{machine};
  Child child{"hold", {std::to_string(700 * kMiB)}, machine.environment()};
  REQUIRE(hold_line(child) == "0");
  const int dead = child.pid();
  child.kill();
  child.wait();
  CHECK(observer.used() == 732 * kMiB);
  CHECK(observer.connection.processes(0)->at(0).first == dead);
  CHECK(observer.comes_to(0));
}

TEST_CASE("processes that race for the last memory get no more than there is", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  constexpr int kProcesses = 8;
  constexpr std::uint64_t kPiece = 16 * kMiB;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(std::make_unique<Child>("grab", Arguments{std::to_string(kPiece)}, machine.environment()));
  }
  for (auto& child : children) REQUIRE(child->line() == "ready");
  for (auto& child : children) child->go_on();
  std::uint64_t pieces = 0;
  for (auto& child : children) pieces += std::stoull(child->line());
  CHECK(pieces == (kTotal - kProcesses * 32 * kMiB) / kPiece);
  CHECK(observer.used() == pieces * kPiece + kProcesses * 32 * kMiB);
}

TEST_CASE("kills at random moments leave the account right", "[simgpu][machine]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  const int rounds = std::getenv("CUPOOL_TEST_LONG") != nullptr ? 200 : 12;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(std::make_unique<Child>("churn", Arguments{std::to_string(random())}, machine.environment()));
    }
    for (auto& child : children) REQUIRE(child->line() == "ready");
    for (auto& child : children) child->go_on();
    for (auto& child : children) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 15'000));
      CHECK(observer.used() <= kTotal);
      child->kill();
    }
    children.clear();
    REQUIRE(observer.used() == 0);
  }
}

TEST_CASE("eighteen thousand handles cost the process no descriptor", "[simgpu][machine]") {
  MachineDirectory machine{{{"SIMGPU_GPUS", "h200"}}};
  Observer observer{machine};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (const char* kind : {"private", "shareable"}) {
    if (std::string(kind) == "shareable" && limit.rlim_max < 18'200) {
      WARN("the server may open only " << limit.rlim_max << " files here: shareable handles not tried");
      continue;
    }
    Child child{"many_handles", {"18000", kind}, machine.environment()};
    INFO(kind);
    CHECK(child.line() == "0");
    CHECK_FALSE(child.line().empty());
    CHECK(child.wait() == 0);
  }
  CHECK(observer.used() == 0);
}

TEST_CASE("a forked child is refused, and does not keep its dead parent's memory", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  Child child{"fork_and_hold", {}, machine.environment()};
  CHECK(child.line() == "3 3 3 0");
  child.kill();
  child.wait();
  CHECK(observer.comes_to(0));
}

TEST_CASE("the host program sees no child, no signal and one descriptor", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Child child{"look_for_children", {}, machine.environment()};
  CHECK(child.line() == "0 1 1");
}

TEST_CASE("a primary context keeps its handle and its count over a reset, and memory is freed by its address alone",
          "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Child child{"context_lives", {}, machine.environment()};
  CHECK(child.line() == "freed without a context: 0");
  CHECK(child.line() == "after a reset: 709 1");
  CHECK(child.line() == "released what was retained: 0, once more: 201");
  CHECK(child.line() == "the same handle: 1, alive: 0");
}

TEST_CASE("memory comes back with its old bytes within a process and zeroed from another", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Observer observer{machine};
  Child own{"first_byte", {"alloc", "read", "write", "free", "alloc", "read"}, machine.environment()};
  CHECK(own.rest() == "0\n90\n");
  Child other{"first_byte", {"alloc", "read"}, machine.environment()};
  CHECK(other.rest() == "0\n");
  Child filled{"first_byte", {"alloc", "read"}, machine.environment({{"SIMGPU_FILL", "0xAB"}})};
  CHECK(filled.rest() == "171\n");
}

TEST_CASE("when the real machine is low on memory requests are refused, and the server says why", "[simgpu][machine]") {
  MachineDirectory machine{one_gib({{"SIMGPU_LOW_MEMORY", "1000000GiB"}})};
  Child child{"hold", {std::to_string(kMiB)}, machine.environment()};
  CHECK(child.line() == "2");
  std::ifstream log(machine.path() + "/server.log");
  std::string line;
  std::getline(log, line);
  CHECK(line.find("the real machine has less than") != std::string::npos);
}

TEST_CASE("many processes that start at once meet on one machine", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 12; ++i) {
    children.push_back(std::make_unique<Child>("hold", Arguments{std::to_string(40 * kMiB)}, machine.environment()));
  }
  for (auto& child : children) CHECK(child->line() == "0");
  Observer observer{machine};
  CHECK(observer.used() == 12 * (40 + 32) * kMiB);
}

TEST_CASE("a machine ends after its last client and can be started again with other settings", "[simgpu][machine]") {
  MachineDirectory machine{one_gib({{"SIMGPU_LINGER", "5s"}})};
  {
    Child first{"hold", {"1024"}, machine.environment()};
    REQUIRE(first.line() == "0");
    Child other{"init", {}, machine.environment({{"SIMGPU_MEMORY", "2GiB"}})};
    CHECK(other.line() == "802");
    Child any{"init", {}, machine.environment({{"SIMGPU_MEMORY", ""}, {"SIMGPU_GPUS", ""}})};
    CHECK(any.line() == "0");
  }
  // Nobody is left: the lingering server makes way.
  Child again{"free", {}, machine.environment({{"SIMGPU_MEMORY", "2GiB"}})};
  CHECK(again.line() == std::to_string(2016 * kMiB));
}

TEST_CASE("the socket is gone when the machine has ended", "[simgpu][machine]") {
  MachineDirectory machine{one_gib({{"SIMGPU_LINGER", "1ms"}})};
  Child child{"init", {}, machine.environment()};
  CHECK(child.line() == "0");
  child.wait();
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    gone = !std::filesystem::exists(machine.path() + "/socket");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}

TEST_CASE("a directory that others can enter is refused", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  chmod(machine.path().c_str(), 0755);
  Child child{"init", {}, machine.environment()};
  CHECK(child.line() == "802");
}

TEST_CASE("settings that cannot be read refuse the start", "[simgpu][machine]") {
  for (const auto& wrong :
       Environment{{"SIMGPU_GPUS", "v100"}, {"SIMGPU_MEMORY", "16GB"}, {"SIMGPU_FAULTS", "nonsense"}, {"SIMGPU_VA", "much"}}) {
    MachineDirectory machine{one_gib()};
    INFO(wrong.first);
    Child child{"init", {}, machine.environment({wrong})};
    CHECK(child.line() == "802");
  }
}

TEST_CASE("no device is visible when CUDA_VISIBLE_DEVICES names none", "[simgpu][machine]") {
  MachineDirectory machine{one_gib()};
  Child child{"init", {}, machine.environment({{"CUDA_VISIBLE_DEVICES", ""}})};
  CHECK(child.line() == "100");
}

}  // namespace cupool::simgpu::test
