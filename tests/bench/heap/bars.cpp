// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/bars.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>

namespace cupool::bench {
namespace {

using nlohmann::json;

/// The rows of one trace by engine.
using Rows = std::map<std::string, json>;

enum class Better { low, high };

/// Keeps the worst of many figures.
class Bar {
 public:
  Bar(std::string what, Better better, double limit) : what_(std::move(what)), better_(better), limit_(limit) {}

  void add(double figure, const std::string& where) {
    const bool is_worse = !worst_ || (better_ == Better::low ? figure > *worst_ : figure < *worst_);
    if (!is_worse) return;
    worst_ = figure;
    where_ = where;
  }

  void report_to(json& bars) const {
    if (!worst_) return;
    const bool is_met = better_ == Better::low ? *worst_ <= limit_ : *worst_ >= limit_;
    bars.push_back({{"bar", what_},
                    {better_ == Better::low ? "at_most" : "at_least", limit_},
                    {"worst", json::parse(fmt::format("{:.4f}", *worst_))},
                    {"where", where_},
                    {"met", is_met}});
  }

 private:
  std::string what_;
  Better better_;
  double limit_;
  std::optional<double> worst_;
  std::string where_;
};

std::map<std::string, Rows> by_trace(const json& report, const char* level) {
  std::map<std::string, Rows> traces;
  for (const json& row : report["results"]) {
    if (row["level"] == level) traces[row["trace"].get<std::string>()][row["engine"].get<std::string>()] = row;
  }
  return traces;
}

double number(const json& row, const char* key) {
  return row.at(key).get<double>();
}
double points(const json& a, const json& b) {
  return 100 * (number(a, "utilisation") - number(b, "utilisation"));
}

void tensor_bars(const json& report, json& bars) {
  Bar quality("utilisation less best fit's, points, tensor traces", Better::high, -0.5);
  Bar ahead("ahead of PyTorch's policy on 2.7B traces, points (cannot exceed what that policy wastes)", Better::high, 8);
  Bar cost("ns per operation over best fit's", Better::low, 0.5);
  Bar tail("p99.9 of one operation, ns", Better::low, 1000);
  Bar metadata("metadata over 64 bytes a block + 0.1 % of the units", Better::low, 1);
  Bar small("smallest capacity over live, handles of 2 MiB", Better::low, 1.015);
  Bar usual("smallest capacity over live, handles of 8 MiB", Better::low, 1.025);
  Bar held("held over live at troughs, handles of 8 MiB", Better::low, 1.25);
  Bar steady("driver calls in a steady loop, handles of 8 MiB", Better::low, 0);
  for (const auto& [trace, rows] : by_trace(report, "tensor")) {
    const auto ours = rows.find("tlsf");
    if (ours == rows.end()) continue;
    const json& row = ours->second;
    tail.add(number(row, "p999_ns"), trace);
    metadata.add(number(row, "metadata_over_bar"), trace);
    if (const auto best = rows.find("best_fit"); best != rows.end()) {
      quality.add(points(row, best->second), trace);
      cost.add(number(row, "ns_per_op") / number(best->second, "ns_per_op"), trace);
    }
    const auto cache = rows.find("pytorch");
    if (cache != rows.end() && trace.find("2.7b") != std::string::npos) ahead.add(points(row, cache->second), trace);
    if (!row.contains("capacity_over_live")) continue;
    small.add(number(row["capacity_over_live"], "2"), trace);
    usual.add(number(row["capacity_over_live"], "8"), trace);
    held.add(number(row["held_over_live"], "8"), trace);
    steady.add(number(row["driver_calls_of_last_pass"], "8"), trace);
  }
  for (const Bar& bar : {quality, ahead, small, usual, held, cost, tail, metadata, steady}) bar.report_to(bars);
}

void driver_bars(const json& report, json& bars) {
  Bar quality("utilisation less best fit's, points, driver-level traces", Better::high, -0.5);
  Bar leased("leased beyond the range in use, units of 128 MiB, driver-level traces", Better::low, 0.999);
  for (const auto& [trace, rows] : by_trace(report, "driver")) {
    const auto ours = rows.find("tlsf");
    if (ours == rows.end()) continue;
    if (const auto best = rows.find("best_fit"); best != rows.end()) quality.add(points(ours->second, best->second), trace);
    if (!ours->second.contains("leased_beyond_range_bytes")) continue;
    leased.add(number(ours->second["leased_beyond_range_bytes"], "8") / 134217728.0, trace);
  }
  for (const Bar& bar : {quality, leased}) bar.report_to(bars);
}

void hole_bars(const json& report, json& bars) {
  Bar growth("a pair among 65,536 holes over one among 4,096", Better::low, 1.3);
  Bar pair("a pair among 65,536 holes, ns", Better::low, 100);
  std::map<std::uint64_t, double> ours;
  for (const json& row : report["holes"]) {
    if (row["engine"] == "tlsf") ours[row["holes"].get<std::uint64_t>()] = number(row, "ns_per_pair");
  }
  if (ours.count(4096) == 0 || ours.count(65536) == 0) return;
  growth.add(ours[65536] / ours[4096], "tlsf");
  pair.add(ours[65536], "tlsf");
  for (const Bar& bar : {growth, pair}) bar.report_to(bars);
}

}  // namespace

json bars_of(const json& report) {
  json bars = json::array();
  tensor_bars(report, bars);
  driver_bars(report, bars);
  hole_bars(report, bars);
  return bars;
}

}  // namespace cupool::bench
