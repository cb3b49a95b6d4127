// SPDX-License-Identifier: Apache-2.0
#include "shim/report/region.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "shim/report/recorder.h"
#include "shim/report/report.h"

namespace cupool::report {
namespace {

/// Runs `body` in a forked child that is then killed with SIGKILL, as the system's out-of-memory killer would.
template <class Body>
void in_killed_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

DeviceFacts one_gpu() {
  DeviceFacts facts;
  facts.uuid = "GPU-1";
  facts.name = "simulated";
  facts.total = kGiB * 16;
  facts.limit = kGiB * 8;
  facts.governed = true;
  return facts;
}

}  // namespace

TEST_CASE("a process that is killed leaves everything it counted to the launcher", "[shim][report]") {
  Region region = Region::create("r1").value();
  const std::string path = region.path();
  in_killed_child([&] {
    static Recorder recorder;
    const Claim claim = claim_record(path.c_str());
    if (!claim.from_region) _exit(9);
    recorder.begin(claim.record, ProcessFacts{"job-a", "standard", "lab.json", "/default_class", 0});
    recorder.name_entry(0, "cuMemAlloc_v2");
    recorder.add_device(0, one_gpu());
    recorder.called(0, ticks(), true);
    recorder.allocated(0, 0x1000, Bytes{100}, Bytes{512}, 0);
    recorder.refused({0, 2, kGiB * 9, "/classes/standard/limit", "cuMemAlloc_v2", "9 GiB more than the limit of 8 GiB"});
  });
  const auto records = region.records();
  REQUIRE(records.size() == 1);
  const auto report = nlohmann::json::parse(to_json(RunFacts{}, records));
  const auto& process = report["processes"][0];
  CHECK(process["job"] == "job-a");
  CHECK(process["ended"] == "no exit handler ran");
  CHECK(process["gpus"][0]["current_bytes"] == 512);
  CHECK(process["gpus"][0]["leaked_blocks"] == 1);
  CHECK(process["entry_points"][0]["name"] == "cuMemAlloc_v2");
  CHECK(process["refusals"][0]["rule"] == "/classes/standard/limit");
  CHECK(report["governed"] == true);
}

TEST_CASE("claiming keeps no descriptor open", "[shim][report]") {
  Region region = Region::create("r2").value();
  const int before = dup(0);
  close(before);
  const Claim claim = claim_record(region.path().c_str());
  CHECK(claim.from_region);
  const int after = dup(0);
  close(after);
  CHECK(before == after);
}

TEST_CASE("a region that is missing, foreign or unsealed gives own memory and says why", "[shim][report]") {
  const Claim missing = claim_record("/proc/self/fd/9999");
  CHECK_FALSE(missing.from_region);
  CHECK(missing.record != nullptr);
  CHECK(std::string(missing.why_not) == "the launcher's journal cannot be opened from here");

  char name[] = "/tmp/cupool-test-XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(ftruncate(file, 1 << 20) == 0);
  CHECK(std::string(claim_record(name).why_not) == "the launcher's journal is not one of this version");
  close(file);
  unlink(name);
  CHECK(std::string(claim_record("/dev/null").why_not) == "the launcher's journal is not one of this version");
}

TEST_CASE("processes beyond the journal's room are counted and turned away, not lost in silence", "[shim][report]") {
  Region region = Region::create("r3").value();
  const std::string path = region.path();
  for (std::size_t index = 0; index < kMaxProcesses; ++index) REQUIRE(claim_record(path.c_str()).from_region);
  CHECK_FALSE(claim_record(path.c_str()).from_region);
  CHECK(region.turned_away() == 1);
  RunFacts facts;
  facts.turned_away = region.turned_away();
  const auto report = nlohmann::json::parse(to_json(facts, region.records()));
  CHECK(report["governed"] == false);
  CHECK(report["warnings"][0].get<std::string>().find("1 processes are missing") == 0);
}

TEST_CASE("the journal's file cannot be shrunk under a process that writes to it", "[shim][report]") {
  Region region = Region::create("r4").value();
  const int file = open(region.path().c_str(), O_RDWR);
  REQUIRE(file >= 0);
  CHECK(ftruncate(file, 0) != 0);
  close(file);
}

}  // namespace cupool::report
