// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/report_view/views.h"

#include <catch2/catch.hpp>
#include <string>

#include "shim/report/recorder.h"
#include "shim/report/region.h"
#include "shim/report/report.h"

namespace cupool::tool {
namespace {

Json sample_report() {
  static report::Recorder recorder;
  static report::ProcessRecord* record = [] {
    report::ProcessRecord* claimed = report::claim_record(nullptr).record;
    recorder.begin(claimed, {"train", "standard", "lab.json", "/default_class", report::kFlagTimeline});
    report::DeviceFacts gpu;
    gpu.uuid = "GPU-1";
    gpu.name = "<simulated> & co";
    gpu.total = kGiB * 16;
    gpu.limit = kGiB * 8;
    gpu.governed = true;
    recorder.add_device(0, gpu);
    recorder.name_entry(0, "cuMemAlloc_v2");
    recorder.called(0, report::ticks(), true);
    recorder.allocated(0, 0x10000, kMiB * 3, kMiB * 3, 0);
    recorder.allocated(0, 0x800000, kMiB * 5, kMiB * 5, 0);
    recorder.freed(0, 0x10000, kMiB * 3, kMiB * 3, 0);
    recorder.account(0, {kMiB * 128, kMiB * 16, {}, {}, {}, 250, 100});
    recorder.account(0, {kMiB * 256, kMiB * 16, {}, {}, {}, 250, 100});
    recorder.refused({0, 2, kGiB * 9, "/classes/standard/limit", "cuMemAlloc_v2", "9 GiB is above the limit"});
    return claimed;
  }();
  report::RunFacts run;
  run.id = "7f3a";
  run.command = "python";
  return Json::parse(report::to_json(run, {record}));
}

}  // namespace

TEST_CASE("the table names the limit, the refusal and its rule", "[tools][report]") {
  const std::string table = to_table(sample_report());
  CHECK(table.find("limit 8 GiB") != std::string::npos);
  CHECK(table.find("9 GiB is above the limit (/classes/standard/limit)") != std::string::npos);
  CHECK(table.find("blocks never freed 1") != std::string::npos);
}

TEST_CASE("the page escapes what programs and devices are called and needs no network", "[tools][report]") {
  const std::string page = to_html(sample_report());
  CHECK(page.find("&lt;simulated&gt; &amp; co") != std::string::npos);
  CHECK(page.find("<simulated>") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("href=") == std::string::npos);
  CHECK(page.find("<svg") != std::string::npos);
}

TEST_CASE("in the memory_viz snapshot blocks tile the segment and agree with the trace", "[tools][report]") {
  const Json snapshot = Json::parse(to_memory_viz(sample_report()));
  REQUIRE(snapshot["segments"].size() == 1);
  const Json& segment = snapshot["segments"][0];
  std::uint64_t at = segment["address"];
  for (const Json& block : segment["blocks"]) {
    CHECK(block["address"] == at);
    at += block["size"].get<std::uint64_t>();
  }
  CHECK(at == segment["address"].get<std::uint64_t>() + segment["total_size"].get<std::uint64_t>());
  CHECK(segment["active_size"] == (kMiB * 5).count);
  const Json& trace = snapshot["device_traces"][0];
  REQUIRE(trace.size() == 4);
  CHECK(trace[0]["action"] == "alloc");
  CHECK(trace[2]["action"] == "free_completed");
  CHECK(trace[3]["action"] == "oom");
}

TEST_CASE("the chrome trace has counters and the refusal as an instant", "[tools][report]") {
  const Json trace = Json::parse(to_chrome_trace(sample_report()));
  bool counter = false, instant = false;
  for (const Json& event : trace["traceEvents"]) {
    counter |= event["ph"] == "C" && event["args"].contains("leased");
    instant |= event["ph"] == "i" && event["args"]["rule"] == "/classes/standard/limit";
  }
  CHECK(counter);
  CHECK(instant);
}

TEST_CASE("a damaged report is shown as far as it goes", "[tools][report]") {
  for (const char* text :
       {"{}", "[]", "null", "3", R"({"processes":7})",
        R"({"processes":[null,3,{"gpus":[{"series":[1,2],"peak_bytes":-5}],"refusals":{},"argv":[1]}]})",
        R"({"processes":[{"timeline":{"events":[{"kind":"allocate","address":18446744073709551615,"bytes":9},{"kind":3}]}}]})"}) {
    const Json report = Json::parse(text);
    CHECK_FALSE(to_table(report).empty());
    CHECK_FALSE(to_html(report).empty());
    CHECK_FALSE(to_memory_viz(report).empty());
    CHECK_FALSE(to_chrome_trace(report).empty());
  }
}

TEST_CASE("a name in a report cannot drive the reader's terminal", "[tools][report]") {
  const Json report = Json::parse(R"({"run":{"command":"\u001b[2Jx"}})");
  CHECK(to_table(report).find('\x1b') == std::string::npos);
}

}  // namespace cupool::tool
