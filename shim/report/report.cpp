// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "shim/report/clock.h"
#include "shim/report/recorder.h"

namespace cupool::report {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto kRelaxed = std::memory_order_relaxed;
/// Integers of a report stay exactly representable in readers that hold numbers as doubles.
constexpr std::uint64_t kLargestInteger = (std::uint64_t{1} << 53) - 1;

std::uint64_t number(std::uint64_t value) {
  return std::min(value, kLargestInteger);
}
std::uint64_t number(const Counter& counter) {
  return number(counter.load(kRelaxed));
}

template <std::size_t N>
std::string text(const Text<N>& source) {
  return std::string(source.data(), strnlen(source.data(), N));
}

std::string rfc3339(std::uint64_t realtime_ns) {
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(buffer.data() + length, buffer.size() - length, ".%03uZ", static_cast<unsigned>(realtime_ns / 1'000'000 % 1000));
  return buffer.data();
}

/// Turns a record's ticks into nanoseconds by its own two clocks; exact to the clocks' readings over the life of the process.
class TickScale {
 public:
  explicit TickScale(const ProcessRecord& record) {
    const double ticks_passed = static_cast<double>(ticks() - record.start_ticks);
    const double ns_passed = static_cast<double>(monotonic_ns() - record.start_monotonic_ns);
    if (ticks_passed > 0 && ns_passed > 0) ns_per_tick_ = ns_passed / ticks_passed;
  }
  std::uint64_t ns(std::uint64_t tick_count) const {
    return number(static_cast<std::uint64_t>(static_cast<double>(tick_count) * ns_per_tick_));
  }

 private:
  double ns_per_tick_ = 1;
};

Json entry_json(const EntryRecord& entry, const TickScale& scale) {
  Json buckets = Json::array();
  for (std::size_t bucket = 0; bucket < kLatencyBuckets; ++bucket) {
    const std::uint64_t calls = entry.latency[bucket].load(kRelaxed);
    if (calls != 0) buckets.push_back({{"below_ns", scale.ns(std::uint64_t{2} << bucket)}, {"calls", calls}});
  }
  return {{"name", text(entry.name)},
          {"calls", number(entry.calls)},
          {"failures", number(entry.failures)},
          {"total_ns", scale.ns(entry.ticks.load(kRelaxed))},
          {"longest_ns", scale.ns(entry.longest_ticks.load(kRelaxed))},
          {"latency", std::move(buckets)}};
}

Json entries_json(const ProcessRecord& record) {
  const TickScale scale{record};
  Json rows = Json::array();
  for (std::uint32_t index = 0; index < std::min<std::uint32_t>(record.entry_count, kMaxEntries); ++index) {
    if (record.entries[index].calls.load(kRelaxed) != 0) rows.push_back(entry_json(record.entries[index], scale));
  }
  return rows;
}

Json sizes_json(const std::array<Counter, kSizeBuckets>& histogram) {
  Json buckets = Json::array();
  for (std::size_t bucket = 0; bucket < kSizeBuckets; ++bucket) {
    const std::uint64_t count = histogram[bucket].load(kRelaxed);
    if (count != 0) buckets.push_back({{"below_bytes", std::uint64_t{2} << bucket}, {"count", count}});
  }
  return buckets;
}

Json series_json(const DeviceRecord& device) {
  // Acquire pairs with account(): the samples below the count are complete.
  const std::uint64_t taken = device.samples_taken.load(std::memory_order_acquire);
  Json series = Json::array();
  for (std::uint64_t index = taken > kMaxSamples ? taken - kMaxSamples + 1 : 0; index < taken; ++index) {
    const Sample& sample = device.samples[index % kMaxSamples];
    series.push_back({{"at_ns", number(sample.at_ns)},
                      {"live_bytes", number(sample.live)},
                      {"leased_bytes", number(sample.leased)},
                      {"mapped_bytes", number(sample.mapped)},
                      {"fragmentation", static_cast<double>(number(sample.fragmentation_permille)) / 1000.0},
                      {"free_handles", static_cast<double>(number(sample.free_handles_permille)) / 1000.0}});
  }
  return series;
}

Json device_json(const DeviceRecord& device, std::uint32_t index) {
  return {{"index", index},
          {"uuid", text(device.uuid)},
          {"name", text(device.name)},
          {"governed", device.governed.load(kRelaxed) != 0 && device.ungoverned_bytes.load(kRelaxed) == 0},
          {"pooled", device.pooled.load(kRelaxed) != 0},
          {"total_bytes", number(device.total_bytes)},
          {"limit_bytes", number(device.limit_bytes)},
          {"guarantee_bytes", number(device.guarantee_bytes)},
          {"unit_bytes", number(device.unit_bytes)},
          {"handle_bytes", number(device.handle_bytes)},
          {"current_bytes", number(device.live_bytes)},
          {"peak_bytes", number(device.peak_live_bytes)},
          {"leased_bytes", number(device.leased_bytes)},
          {"peak_leased_bytes", number(device.peak_leased_bytes)},
          {"mapped_bytes", number(device.mapped_bytes)},
          {"charged_bytes", number(device.charged_bytes)},
          {"driver_overhead_bytes", number(device.overhead_bytes)},
          {"ungoverned_bytes", number(device.ungoverned_bytes)},
          {"allocated_bytes", number(device.allocated_bytes)},
          {"freed_bytes", number(device.freed_bytes)},
          {"allocations", number(device.allocations)},
          {"frees", number(device.frees)},
          {"leaked_blocks",
           number(device.allocations.load(kRelaxed) - std::min(device.frees.load(kRelaxed), device.allocations.load(kRelaxed)))},
          {"waits",
           {{"count", number(device.waits)}, {"total_ns", number(device.wait_ns)}, {"longest_ns", number(device.longest_wait_ns)}}},
          {"refusals", {{"count", number(device.refusals)}, {"satisfied_later", number(device.refusals_retried)}}},
          {"handles_moved", number(device.handles_moved)},
          {"driver_calls", number(device.driver_calls)},
          {"sizes_asked", sizes_json(device.asked)},
          {"sizes_given", sizes_json(device.given)},
          {"series", series_json(device)}};
}

Json refusals_json(const ProcessRecord& record) {
  const std::uint64_t count = record.refusal_count.load(kRelaxed);
  Json rows = Json::array();
  for (std::uint64_t index = count > kMaxRefusals ? count - kMaxRefusals : 0; index < count; ++index) {
    const Refusal& refusal = record.refusals[index % kMaxRefusals];
    rows.push_back({{"at_ns", number(refusal.at_ns)},
                    {"device", refusal.device},
                    {"entry", text(refusal.entry)},
                    {"asked_bytes", number(refusal.asked_bytes)},
                    {"live_bytes", number(refusal.live_bytes)},
                    {"limit_bytes", number(refusal.limit_bytes)},
                    {"code", refusal.code},
                    {"rule", text(refusal.rule)},
                    {"reason", text(refusal.reason)}});
  }
  return rows;
}

Json site_json(const SiteRecord& site) {
  Json frames = Json::array();
  for (std::uint32_t index = 0; index < std::min<std::uint32_t>(site.depth, kMaxFrames); ++index) {
    const Frame& frame = site.frames[index];
    frames.push_back({{"function", text(frame.function)}, {"module", text(frame.module)}, {"offset", number(frame.offset)}});
  }
  return {{"allocated_bytes", number(site.allocated_bytes)},
          {"live_bytes", number(site.live_bytes)},
          {"samples", number(site.samples)},
          {"frames", std::move(frames)}};
}

Json sites_json(const ProcessRecord& record) {
  Json rows = Json::array();
  for (const SiteRecord& site : record.sites) {
    // Acquire pairs with note_call_site(): a ready site's frames are complete.
    if (site.ready.load(std::memory_order_acquire) != 0) rows.push_back(site_json(site));
  }
  std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["allocated_bytes"].get<std::uint64_t>() > b["allocated_bytes"].get<std::uint64_t>();
  });
  return rows;
}

const char* to_text(EventKind kind) {
  switch (kind) {
    case EventKind::none:
      return "none";
    case EventKind::allocate:
      return "allocate";
    case EventKind::free:
      return "free";
    case EventKind::refuse:
      return "refuse";
    case EventKind::wait:
      return "wait";
    case EventKind::lease:
      return "lease";
    case EventKind::give_up:
      return "give_up";
    case EventKind::move:
      return "move";
  }
  return "none";
}

Json timeline_json(const ProcessRecord& record) {
  const TickScale scale{record};
  const std::uint64_t count = record.event_count.load(kRelaxed);
  Json events = Json::array();
  for (std::uint64_t index = count > kMaxEvents ? count - kMaxEvents : 0; index < count; ++index) {
    const Event& event = record.events[index % kMaxEvents];
    const EventTag tag = EventTag::of(event.tag.load(kRelaxed));
    if (tag.kind == EventKind::none) continue;  // claimed by a thread that has not written it yet
    Json row = {{"at_ns", scale.ns(event.at_ticks.load(kRelaxed))},
                {"kind", to_text(tag.kind)},
                {"device", tag.device},
                {"address", event.address.load(kRelaxed)},
                {"bytes", number(event.bytes)}};
    if (tag.site != 0) row["site_key"] = record.sites[(tag.site - 1u) % kMaxSites].key.load(kRelaxed);
    events.push_back(std::move(row));
  }
  return {{"events", std::move(events)}, {"count", number(count)}, {"truncated", count > kMaxEvents}};
}

Json arguments_json(const ProcessRecord& record) {
  Json arguments = Json::array();
  const char* at = record.arguments.data();
  const char* const end = at + record.arguments.size();
  while (at < end && *at != '\0') {
    const std::string argument(at, strnlen(at, static_cast<std::size_t>(end - at)));
    arguments.push_back(argument);
    at += argument.size() + 1;
  }
  return arguments;
}

Json warnings_json(const ProcessRecord& record) {
  Json rows = Json::array();
  const std::uint64_t count = std::min<std::uint64_t>(record.warning_count.load(kRelaxed), kMaxWarnings);
  for (std::uint64_t index = 0; index < count; ++index) rows.push_back(text(record.warnings[index]));
  return rows;
}

const char* unwinder_text(std::uint64_t state) {
  switch (state) {
    case 0:
      return "not needed";
    case 1:
      return "libunwind";
    default:
      return "missing: install libunwind8 to see call sites";
  }
}

bool is_governed(const ProcessRecord& record, const Json& devices) {
  if ((record.flags.load(kRelaxed) & kFlagUngoverned) != 0) return false;
  return std::all_of(devices.begin(), devices.end(), [](const Json& device) { return device["governed"].get<bool>(); });
}

Json process_json(const ProcessRecord& record, std::uint64_t run_start_ns) {
  const std::uint32_t flags = record.flags.load(kRelaxed);
  const bool finished = record.state.load(std::memory_order_acquire) == State::finished;
  Json devices = Json::array();
  const std::uint32_t count = std::min<std::uint32_t>(record.device_count.load(std::memory_order_acquire), kMaxDevices);
  for (std::uint32_t index = 0; index < count; ++index) {
    if (record.devices[index].total_bytes.load(kRelaxed) != 0) devices.push_back(device_json(record.devices[index], index));
  }
  const bool governed = is_governed(record, devices);
  Json process = {{"pid", record.pid},
                  {"parent_pid", record.parent_pid},
                  {"executable", text(record.executable)},
                  {"argv", arguments_json(record)},
                  {"job", text(record.job)},
                  {"class", text(record.job_class)},
                  {"policy_source", text(record.policy_source)},
                  {"policy_rule", text(record.policy_rule)},
                  {"governed", governed},
                  {"limit_applies_per", (flags & kFlagPerProcess) != 0 ? "process" : "job"},
                  {"forked", (flags & kFlagForkedChild) != 0},
                  {"start_ns", number(record.start_monotonic_ns - std::min(run_start_ns, record.start_monotonic_ns))},
                  {"ended", finished ? "exit" : "no exit handler ran"}};
  if (finished)
    process["end_ns"] = number(record.end_monotonic_ns.load(kRelaxed) - std::min(run_start_ns, record.start_monotonic_ns));
  process["gpus"] = std::move(devices);
  process["entry_points"] = entries_json(record);
  process["refusals"] = refusals_json(record);
  process["call_sites"] = {{"unwinder", unwinder_text(record.unwinder.load(kRelaxed))},
                           {"sampled_every_bytes", Recorder::kSampleBytes},
                           {"not_recorded", number(record.site_overflow)},
                           {"sites", sites_json(record)}};
  if ((flags & kFlagTimeline) != 0) process["timeline"] = timeline_json(record);
  process["warnings"] = warnings_json(record);
  return process;
}

/// Adds up what the processes of each job used. Peaks are summed: an upper bound where the processes did not peak together.
Json jobs_json(const Json& processes) {
  Json jobs = Json::array();
  for (const Json& process : processes) {
    auto row = std::find_if(jobs.begin(), jobs.end(), [&](const Json& job) { return job["job"] == process["job"]; });
    if (row == jobs.end()) {
      jobs.push_back({{"job", process["job"]},
                      {"class", process["class"]},
                      {"processes", 0},
                      {"peak_bytes", 0},
                      {"current_bytes", 0},
                      {"allocations", 0},
                      {"refusals", 0},
                      {"waits", 0}});
      row = jobs.end() - 1;
    }
    (*row)["processes"] = (*row)["processes"].get<std::uint64_t>() + 1;
    for (const Json& device : process["gpus"]) {
      const auto add = [&](const char* to, const Json& amount) {
        (*row)[to] = (*row)[to].get<std::uint64_t>() + amount.get<std::uint64_t>();
      };
      add("peak_bytes", device["peak_bytes"]);
      add("current_bytes", device["current_bytes"]);
      add("allocations", device["allocations"]);
      add("refusals", device["refusals"]["count"]);
      add("waits", device["waits"]["count"]);
    }
  }
  return jobs;
}

std::string dump(const Json& json) {
  // Names of files and programs need not be UTF-8: what is not is replaced, so that the report is always valid JSON.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json run_json(const RunFacts& run, std::uint64_t start_realtime_ns) {
  Json exit = nullptr;
  if (run.exit_code) exit = {{"code", *run.exit_code}};
  if (run.exit_signal) exit = {{"signal", *run.exit_signal}};
  return {{"id", run.id},
          {"command", run.command},
          {"host", run.host},
          {"start", rfc3339(start_realtime_ns)},
          {"end", rfc3339(realtime_ns())},
          {"launched_by_cupool_run", run.launched},
          {"exit", std::move(exit)}};
}

Json policy_json(const RunFacts& run) {
  Json policy = {{"path", run.policy_path.empty() ? Json("built-in default") : Json(run.policy_path)}};
  Json effective = Json::parse(run.policy_effective, nullptr, /*allow_exceptions=*/false);
  policy["effective"] = effective.is_discarded() ? Json(nullptr) : std::move(effective);
  return policy;
}

}  // namespace

std::string to_json(const RunFacts& run, const std::vector<const ProcessRecord*>& processes) {
  std::uint64_t start_ns = monotonic_ns(), start_realtime = realtime_ns();
  for (const ProcessRecord* record : processes) {
    start_ns = std::min(start_ns, record->start_monotonic_ns);
    start_realtime = std::min(start_realtime, record->start_realtime_ns);
  }
  Json rows = Json::array();
  for (const ProcessRecord* record : processes) rows.push_back(process_json(*record, start_ns));
  const bool governed = !rows.empty() && run.turned_away == 0 &&
                        std::all_of(rows.begin(), rows.end(), [](const Json& process) { return process["governed"].get<bool>(); });
  Json warnings = run.warnings;
  if (run.turned_away != 0) {
    warnings.push_back(std::to_string(run.turned_away) + " processes are missing here: the journal holds " +
                       std::to_string(kMaxProcesses));
  }
  Json report = {{"$schema", "report.schema.json"},
                 {"kind", "cupool.report"},
                 {"version", 1},
                 {"tool", {{"name", "cupool"}, {"version", run.version}}},
                 {"run", run_json(run, start_realtime)},
                 {"governed", governed},
                 {"policy", policy_json(run)},
                 {"jobs", jobs_json(rows)},
                 {"processes", std::move(rows)},
                 {"warnings", std::move(warnings)}};
  return dump(report);
}

MergeOutcome merge(const std::vector<std::string>& reports) {
  Json merged;
  for (std::size_t index = 0; index < reports.size(); ++index) {
    Json report = Json::parse(reports[index], nullptr, /*allow_exceptions=*/false);
    const auto refuse = [&](const char* why) { return MergeOutcome{"", "report " + std::to_string(index + 1) + " " + why}; };
    if (!report.is_object() || report.value("kind", Json("")) != "cupool.report") return refuse("is not a cupool report");
    if (report.value("version", Json(0)) != 1) return refuse("has a version that this cupool cannot read (it reads version 1)");
    for (const char* list : {"processes", "jobs", "warnings"}) {
      if (!report.contains(list) || !report[list].is_array()) return refuse("is damaged: a list is missing");
    }
    if (index == 0) {
      merged = std::move(report);
      continue;
    }
    for (Json& process : report["processes"]) merged["processes"].push_back(std::move(process));
    for (Json& job : report["jobs"]) merged["jobs"].push_back(std::move(job));
    for (Json& warning : report["warnings"]) merged["warnings"].push_back(std::move(warning));
    merged["governed"] = merged.value("governed", Json(false)) == true && report.value("governed", Json(false)) == true;
  }
  return MergeOutcome{dump(merged), ""};
}

}  // namespace cupool::report
