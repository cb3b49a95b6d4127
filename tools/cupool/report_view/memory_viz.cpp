// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tools/cupool/report_view/views.h"

namespace cupool::tool {
namespace {

struct Block {
  std::uint64_t size = 0;
  Json frames = Json::array();
};

Json frames_of(const Json& process, const Json& site) {
  Json frames = Json::array();
  for (const Json& frame : list(site, "frames")) {
    const std::string function = text(frame, "function");
    frames.push_back({{"filename", text(frame, "module")}, {"line", 0}, {"name", function.empty() ? "?" : function}});
  }
  if (frames.empty()) {
    // The viewer groups by frames: an allocation without a sampled stack is shown under its job.
    frames.push_back({{"filename", text(process, "executable")}, {"line", 0}, {"name", text(process, "job")}});
  }
  return frames;
}

/// One device of one process: replays the recorded events, so that trace and final state agree as the viewer demands.
class DeviceHistory {
 public:
  void add(const Json& event, const Json& process) {
    const std::string kind = text(event, "kind");
    const std::uint64_t address = number(event, "address"), size = number(event, "bytes");
    Json row = {{"addr", address}, {"size", size}, {"stream", 0}, {"time_us", number(event, "at_ns") / 1000}};
    if (kind == "allocate" && !live_.contains(address)) {
      Json frames = frames_of(process, Json::object());
      live_[address] = Block{size, frames};
      row["action"] = "alloc";
      row["frames"] = std::move(frames);
      trace_.push_back(std::move(row));
    } else if (kind == "free" && live_.contains(address)) {
      live_.erase(address);
      row["action"] = "free_completed";
      row["frames"] = Json::array();
      trace_.push_back(std::move(row));
    } else if (kind == "refuse") {
      row.erase("addr");
      row["action"] = "oom";
      row["device_free"] = 0;
      row["frames"] = frames_of(process, Json::object());
      trace_.push_back(std::move(row));
    }
    if (address != 0) range_ = {std::min(range_.first, address), std::max(range_.second, address + size)};
  }

  /// One segment over the whole range; blocks tile it in order, gaps are inactive: the viewer adds sizes up from the segment's
  /// start.
  Json segment(std::uint64_t device) const {
    if (range_.second == 0) return nullptr;
    Json blocks = Json::array();
    std::uint64_t at = range_.first, active = 0;
    const auto add_gap = [&](std::uint64_t end) {
      if (end > at)
        blocks.push_back(
            {{"address", at}, {"size", end - at}, {"requested_size", 0}, {"state", "inactive"}, {"frames", Json::array()}});
    };
    for (const auto& [address, block] : live_) {
      if (address < at) continue;  // overlaps in a damaged report are left out rather than shown wrong
      add_gap(address);
      blocks.push_back({{"address", address},
                        {"size", block.size},
                        {"requested_size", block.size},
                        {"state", "active_allocated"},
                        {"frames", block.frames}});
      at = address + block.size;
      active += block.size;
    }
    add_gap(range_.second);
    return {{"device", device},
            {"address", range_.first},
            {"total_size", range_.second - range_.first},
            {"allocated_size", active},
            {"active_size", active},
            {"requested_size", active},
            {"stream", 0},
            {"segment_type", "large"},
            {"segment_pool_id", {0, 0}},
            {"is_expandable", true},
            {"frames", Json::array()},
            {"blocks", std::move(blocks)}};
  }
  const Json& trace() const { return trace_; }

 private:
  std::map<std::uint64_t, Block> live_;
  Json trace_ = Json::array();
  std::pair<std::uint64_t, std::uint64_t> range_{UINT64_MAX, 0};
};

}  // namespace

std::string to_memory_viz(const Json& report) {
  Json segments = Json::array(), traces = Json::array();
  for (const Json& process : list(report, "processes")) {
    std::map<std::uint64_t, DeviceHistory> devices;
    for (const Json& event : list(part(process, "timeline"), "events")) devices[number(event, "device")].add(event, process);
    for (const auto& [device, history] : devices) {
      // The viewer numbers traces by device: each process's device gets a number of its own.
      if (Json segment = history.segment(traces.size()); !segment.is_null()) segments.push_back(std::move(segment));
      traces.push_back(history.trace());
    }
  }
  const Json snapshot = {{"segments", std::move(segments)},
                         {"device_traces", std::move(traces)},
                         {"allocator_settings", {{"allocator", "cupool"}, {"policy", text(part(report, "policy"), "path")}}}};
  return snapshot.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cupool::tool
