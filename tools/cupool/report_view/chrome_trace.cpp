// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/report_view/views.h"

#include <algorithm>

namespace cupool::tool {
namespace {

double microseconds(const Json& object, const char* key) {
  return static_cast<double>(number(object, key)) / 1000.0;
}

void add_process(Json& events, const Json& process) {
  const std::uint64_t pid = number(process, "pid");
  const double start = microseconds(process, "start_ns");
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", pid},
                    {"tid", 0},
                    {"args", {{"name", text(process, "job") + " " + text(process, "executable")}}}});
  for (const Json& gpu : list(process, "gpus")) {
    const std::string name = "GPU " + std::to_string(number(gpu, "index")) + " memory";
    for (const Json& sample : list(gpu, "series")) {
      events.push_back({{"ph", "C"},
                        {"name", name},
                        {"pid", pid},
                        {"tid", 0},
                        {"ts", start + microseconds(sample, "at_ns")},
                        {"args",
                         {{"live", number(sample, "live_bytes")},
                          {"leased", number(sample, "leased_bytes")},
                          {"mapped", number(sample, "mapped_bytes")}}}});
    }
  }
  std::uint64_t live = 0;
  for (const Json& event : list(part(process, "timeline"), "events")) {
    const std::string kind = text(event, "kind");
    if (kind == "allocate") live += number(event, "bytes");
    if (kind == "free") live -= std::min(live, number(event, "bytes"));
    if (kind != "allocate" && kind != "free") continue;
    events.push_back({{"ph", "C"},
                      {"name", "live bytes (recorded events)"},
                      {"pid", pid},
                      {"tid", 0},
                      {"ts", start + microseconds(event, "at_ns")},
                      {"args", {{"live", live}}}});
  }
  for (const Json& refusal : list(process, "refusals")) {
    events.push_back({{"ph", "i"},
                      {"s", "p"},
                      {"name", "refused " + to_text(bytes(refusal, "asked_bytes"))},
                      {"cat", "refusal"},
                      {"pid", pid},
                      {"tid", 0},
                      {"ts", start + microseconds(refusal, "at_ns")},
                      {"args", {{"rule", text(refusal, "rule")}, {"reason", text(refusal, "reason")}}}});
  }
}

}  // namespace

std::string to_chrome_trace(const Json& report) {
  Json events = Json::array();
  for (const Json& process : list(report, "processes")) add_process(events, process);
  const Json trace = {{"traceEvents", std::move(events)},
                      {"displayTimeUnit", "ms"},
                      {"otherData", {{"tool", "cupool"}, {"run", text(part(report, "run"), "id")}}}};
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cupool::tool
