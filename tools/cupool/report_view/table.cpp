// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tools/cupool/report_view/views.h"

namespace cupool::tool {
namespace {

std::string duration(std::uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
}

std::string exit_text(const Json& run) {
  const Json& exit = part(run, "exit");
  if (exit.contains("signal")) return fmt::format("signal {}", number(exit, "signal"));
  if (exit.contains("code")) return fmt::format("exit {}", number(exit, "code"));
  return "exit unknown (no launcher)";
}

std::string bar(std::uint64_t part_of, std::uint64_t whole, std::size_t width) {
  const std::size_t filled =
      whole == 0 ? 0
                 : static_cast<std::size_t>(static_cast<double>(part_of) / static_cast<double>(whole) * static_cast<double>(width));
  std::string line;
  for (std::size_t index = 0; index < std::min(filled, width); ++index) line += "\u2587";
  return line;
}

void add_sizes(std::string& out, const Json& histogram) {
  std::uint64_t total = 0;
  for (const Json& bucket : histogram) total += number(bucket, "count");
  if (total == 0) return;
  out += "  sizes asked for\n";
  for (const Json& bucket : histogram) {
    const std::uint64_t count = number(bucket, "count");
    out += fmt::format("    < {:<9} {:>10}  {:>5.1f}%  {}\n", to_text(bytes(bucket, "below_bytes")), count,
                       100.0 * static_cast<double>(count) / static_cast<double>(total), bar(count, total, 40));
  }
}

void add_device(std::string& out, const Json& gpu) {
  out += fmt::format("\n  GPU {} {} {}\n", number(gpu, "index"), text(gpu, "uuid"), text(gpu, "name"));
  const Bytes limit = bytes(gpu, "limit_bytes");
  out += fmt::format("  {:<18} {:>12} {:>12} {:>12} {:>12} {:>10}\n", "", "current", "peak", "allocated", "freed", "count");
  out += fmt::format("  {:<18} {:>12} {:>12} {:>12} {:>12} {:>10}\n", "memory", to_text(bytes(gpu, "current_bytes")),
                     to_text(bytes(gpu, "peak_bytes")), to_text(bytes(gpu, "allocated_bytes")), to_text(bytes(gpu, "freed_bytes")),
                     number(gpu, "allocations"));
  out += fmt::format("  {:<18} {:>12} {:>12}\n", "leased units", to_text(bytes(gpu, "leased_bytes")),
                     to_text(bytes(gpu, "peak_leased_bytes")));
  out += fmt::format(
      "  limit {} ({:.0f}% reached)   guarantee {}   device {}\n", to_text(limit),
      limit.count == 0 ? 0.0 : 100.0 * static_cast<double>(number(gpu, "peak_bytes")) / static_cast<double>(limit.count),
      to_text(bytes(gpu, "guarantee_bytes")), to_text(bytes(gpu, "total_bytes")));
  out += fmt::format("  driver overhead {}   charged beside the pool {}   not governed {}\n",
                     to_text(bytes(gpu, "driver_overhead_bytes")), to_text(bytes(gpu, "charged_bytes")),
                     to_text(bytes(gpu, "ungoverned_bytes")));
  const Json& waits = part(gpu, "waits");
  const Json& refusals = part(gpu, "refusals");
  out += fmt::format("  waits {} (longest {})   refusals {} ({} satisfied later)   blocks never freed {}\n", number(waits, "count"),
                     duration(number(waits, "longest_ns")), number(refusals, "count"), number(refusals, "satisfied_later"),
                     number(gpu, "leaked_blocks"));
  if (!list(gpu, "series").empty()) {
    out += fmt::format("  fragmentation at the end {:.2f}   handles moved {}\n",
                       fraction(list(gpu, "series").back(), "fragmentation"), number(gpu, "handles_moved"));
  }
  add_sizes(out, list(gpu, "sizes_asked"));
}

/// The upper bound of the bucket in which the given share of the calls lies.
std::uint64_t percentile(const Json& latency, std::uint64_t calls, double share) {
  std::uint64_t seen = 0, bound = 0;
  for (const Json& bucket : latency) {
    seen += number(bucket, "calls");
    bound = number(bucket, "below_ns");
    if (static_cast<double>(seen) >= share * static_cast<double>(calls)) break;
  }
  return bound;
}

void add_entry_points(std::string& out, const Json& entries) {
  if (entries.empty()) return;
  std::vector<const Json*> rows;
  for (const Json& entry : entries) rows.push_back(&entry);
  std::sort(rows.begin(), rows.end(), [](const Json* a, const Json* b) { return number(*a, "total_ns") > number(*b, "total_ns"); });
  out += fmt::format("\n  {:<34} {:>10} {:>9} {:>11} {:>10} {:>10} {:>10}\n", "call", "calls", "failed", "total", "mean", "p99 <",
                     "longest");
  constexpr std::size_t kShown = 12;
  for (std::size_t index = 0; index < std::min(rows.size(), kShown); ++index) {
    const Json& row = *rows[index];
    const std::uint64_t calls = number(row, "calls");
    const bool timed = number(row, "total_ns") != 0;  // launches and copies are counted only
    const auto shown = [&](std::uint64_t ns) { return timed ? duration(ns) : std::string("-"); };
    out += fmt::format("  {:<34} {:>10} {:>9} {:>11} {:>10} {:>10} {:>10}\n", text(row, "name"), calls, number(row, "failures"),
                       shown(number(row, "total_ns")), shown(calls == 0 ? 0 : number(row, "total_ns") / calls),
                       shown(percentile(list(row, "latency"), calls, 0.99)), shown(number(row, "longest_ns")));
  }
  if (rows.size() > kShown) out += fmt::format("  ... {} more in the JSON\n", rows.size() - kShown);
}

void add_refusals(std::string& out, const Json& refusals) {
  if (refusals.empty()) return;
  out += "\n  refused\n";
  for (const Json& refusal : refusals) {
    out += fmt::format("    at {:>9}  {} asked {} on GPU {} with {} in use\n      {} ({})\n", duration(number(refusal, "at_ns")),
                       text(refusal, "entry"), to_text(bytes(refusal, "asked_bytes")), number(refusal, "device"),
                       to_text(bytes(refusal, "live_bytes")), text(refusal, "reason"), text(refusal, "rule"));
  }
}

void add_call_sites(std::string& out, const Json& call_sites) {
  const Json& sites = list(call_sites, "sites");
  if (sites.empty()) return;
  out += "\n  where memory was asked for (sampled)\n";
  constexpr std::size_t kShown = 8;
  for (std::size_t index = 0; index < std::min<std::size_t>(sites.size(), kShown); ++index) {
    const Json& site = sites[index];
    out += fmt::format("    {:>10} asked, {:>10} still live\n", to_text(bytes(site, "allocated_bytes")),
                       to_text(bytes(site, "live_bytes")));
    std::size_t shown = 0;
    for (const Json& frame : list(site, "frames")) {
      if (++shown > 4) break;
      const std::string function = text(frame, "function");
      out += fmt::format("      {} in {}\n", function.empty() ? fmt::format("+{:#x}", number(frame, "offset")) : function,
                         text(frame, "module"));
    }
  }
}

void add_process(std::string& out, const Json& process) {
  std::string command;
  for (const Json& argument : list(process, "argv")) {
    if (argument.is_string()) command += (command.empty() ? "" : " ") + printable(argument.get<std::string>());
  }
  out += fmt::format("\nprocess {}  {}\n", number(process, "pid"), command.substr(0, 120));
  out += fmt::format("  job {}  class {}  policy {} ({})\n", text(process, "job"), text(process, "class"),
                     text(process, "policy_source"), text(process, "policy_rule"));
  out += fmt::format("  governed {}   limit applies per {}   ended: {}\n", flag(process, "governed") ? "yes" : "NO",
                     text(process, "limit_applies_per"), text(process, "ended"));
  for (const Json& gpu : list(process, "gpus")) add_device(out, gpu);
  add_refusals(out, list(process, "refusals"));
  add_entry_points(out, list(process, "entry_points"));
  add_call_sites(out, part(process, "call_sites"));
  for (const Json& warning : list(process, "warnings")) {
    if (warning.is_string()) out += fmt::format("  warning: {}\n", printable(warning.get<std::string>()));
  }
}

}  // namespace

std::string to_table(const Json& report) {
  const Json& run = part(report, "run");
  std::string out = fmt::format("run {}  {}  {}  {}  {}\n", text(run, "id"), text(run, "command"), text(run, "host"),
                                text(run, "start"), exit_text(run));
  out += fmt::format("policy {}   governed {}\n", text(part(report, "policy"), "path"), flag(report, "governed") ? "yes" : "NO");
  if (list(report, "processes").empty()) out += "no process of this run used CUDA\n";
  for (const Json& process : list(report, "processes")) add_process(out, process);
  for (const Json& warning : list(report, "warnings")) {
    if (warning.is_string()) out += fmt::format("warning: {}\n", printable(warning.get<std::string>()));
  }
  return out;
}

}  // namespace cupool::tool
