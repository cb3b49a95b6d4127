// SPDX-License-Identifier: Apache-2.0
#include "shim/report/recorder.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "shim/report/region.h"
#include "shim/report/report.h"

namespace cupool::report {
namespace {

struct Recorded {
  explicit Recorded(std::uint32_t flags = 0) : record(claim_record(nullptr).record) {
    recorder.begin(record, ProcessFacts{"job", "standard", "built-in default", "/default_class", flags});
    DeviceFacts facts;
    facts.uuid = "GPU-1";
    facts.total = kGiB;
    facts.limit = kMiB * 512;
    facts.governed = true;
    recorder.add_device(0, facts);
  }
  nlohmann::json process() const { return nlohmann::json::parse(to_json(RunFacts{}, {record}))["processes"][0]; }

  Recorder recorder;
  ProcessRecord* record;
};

}  // namespace

TEST_CASE("counting before the record begins does nothing", "[shim][report]") {
  Recorder recorder;
  recorder.called(0, ticks(), true);
  recorder.allocated(0, 1, Bytes{1}, Bytes{1}, 0);
  recorder.refused({});
  recorder.finish();
  CHECK_FALSE(recorder.has_begun());
}

TEST_CASE("peak and current follow allocations and frees", "[shim][report]") {
  Recorded recorded;
  recorded.recorder.allocated(0, 0x1000, Bytes{1000}, Bytes{1024}, 0);
  recorded.recorder.allocated(0, 0x2000, Bytes{3000}, Bytes{3072}, 0);
  recorded.recorder.freed(0, 0x1000, Bytes{1000}, Bytes{1024}, 0);
  const auto gpu = recorded.process()["gpus"][0];
  CHECK(gpu["peak_bytes"] == 4096);
  CHECK(gpu["current_bytes"] == 3072);
  CHECK(gpu["allocated_bytes"] == 4096);
  CHECK(gpu["sizes_asked"][0]["below_bytes"] == 1024);
  CHECK(gpu["sizes_given"][0]["below_bytes"] == 2048);
}

TEST_CASE("a free that was never counted does not underflow", "[shim][report]") {
  Recorded recorded;
  recorded.recorder.freed(0, 0x1000, Bytes{512}, Bytes{512}, 0);
  CHECK(recorded.process()["gpus"][0]["current_bytes"] == 0);
  CHECK(recorded.process()["gpus"][0]["leaked_blocks"] == 0);
}

TEST_CASE("a refusal that is served when asked again counts as satisfied later", "[shim][report]") {
  Recorded recorded;
  recorded.recorder.refused({0, 2, Bytes{4096}, "/rule", "cuMemAlloc_v2", "reason"});
  recorded.recorder.allocated(0, 0x1000, Bytes{4096}, Bytes{4096}, 0);
  const auto gpu = recorded.process()["gpus"][0];
  CHECK(gpu["refusals"]["count"] == 1);
  CHECK(gpu["refusals"]["satisfied_later"] == 1);
}

TEST_CASE("devices and entry points beyond the record's room are left out without harm", "[shim][report]") {
  Recorded recorded;
  recorded.recorder.add_device(kMaxDevices, DeviceFacts{});
  recorded.recorder.allocated(kMaxDevices + 5, 1, Bytes{1}, Bytes{1}, 0);
  recorded.recorder.called(kMaxEntries, ticks(), true);
  CHECK(recorded.process()["gpus"].size() == 1);
}

TEST_CASE("eight threads counting at once lose nothing", "[shim][report]") {
  Recorded recorded{kFlagTimeline};
  recorded.recorder.name_entry(3, "cuMemAlloc_v2");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        recorded.recorder.allocated(0, 0x1000, Bytes{512}, Bytes{512}, 0);
        recorded.recorder.freed(0, 0x1000, Bytes{512}, Bytes{512}, 0);
        recorded.recorder.called(3, ticks(), round % 2 == 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto process = recorded.process();
  CHECK(process["gpus"][0]["allocations"] == 16000);
  CHECK(process["gpus"][0]["current_bytes"] == 0);
  CHECK(process["entry_points"][0]["calls"] == 16000);
  CHECK(process["entry_points"][0]["failures"] == 8000);
  CHECK(process["timeline"]["truncated"] == true);
  CHECK(process["timeline"]["count"] == 32000);
}

TEST_CASE("one stack is one call site, and its live bytes go with the frees", "[shim][report]") {
  Recorded recorded{kFlagCallSites};
  std::vector<SiteNumber> sites;
  for (int round = 0; round < 4; ++round) sites.push_back(recorded.recorder.sample_site(kMiB * 8, 0));
  if (recorded.process()["call_sites"]["unwinder"] != "libunwind") {
    WARN("libunwind8 is not installed: call sites are not tested");
    return;
  }
  for (SiteNumber site : sites) REQUIRE(site == sites[0]);
  REQUIRE(sites[0] != 0);
  recorded.recorder.allocated(0, 0x1000, kMiB * 8, kMiB * 8, sites[0]);
  recorded.recorder.allocated(0, 0x2000, kMiB * 8, kMiB * 8, sites[0]);
  recorded.recorder.freed(0, 0x1000, kMiB * 8, kMiB * 8, sites[0]);
  const auto site = recorded.process()["call_sites"]["sites"][0];
  CHECK(site["live_bytes"] == kMiB.count * 8);
  CHECK(site["allocated_bytes"] == kMiB.count * 32);
  CHECK_FALSE(site["frames"][0]["module"].get<std::string>().empty());
}

TEST_CASE("names that are not UTF-8 still give valid JSON", "[shim][report]") {
  Recorded recorded;
  recorded.recorder.warn("bad \xff\xfe name");
  CHECK(recorded.process()["warnings"].size() == 1);
}

TEST_CASE("reports are merged, and what is no report is refused by its position", "[shim][report]") {
  Recorded recorded;
  const std::string one = to_json(RunFacts{}, {recorded.record});
  const MergeOutcome merged = merge({one, one});
  REQUIRE(merged.error.empty());
  CHECK(nlohmann::json::parse(merged.json)["processes"].size() == 2);
  CHECK(merge({one, "{}"}).error == "report 2 is not a cupool report");
  CHECK(merge({"not json"}).error == "report 1 is not a cupool report");
  CHECK(merge({"{\"kind\":\"cupool.report\",\"version\":2}"}).error.find("version") != std::string::npos);
}

}  // namespace cupool::report
