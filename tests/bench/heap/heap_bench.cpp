// SPDX-License-Identifier: Apache-2.0
//
// heap_bench: what our heaps make of allocation traces, beside other allocators in the same run. --help tells the options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/heap/arena_figures.h"
#include "tests/bench/heap/bars.h"
#include "tests/bench/heap/clock.h"
#include "tests/bench/heap/contestant.h"
#include "tests/bench/heap/ops.h"
#include "tests/bench/heap/picture.h"
#include "tests/bench/heap/references.h"
#include "tests/bench/heap/replay.h"
#include "tests/bench/heap/threads.h"

namespace cupool::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> traces;
  std::vector<std::string> engines;
  unsigned passes = 5;
  bool as_json = false;
  bool with_arena = true;
  std::string picture;
};

json figure(double value, int digits) {
  return json::parse(fmt::format("{:.{}f}", value, digits));
}

bool is_wanted(const Options& options, const std::string& engine) {
  return options.engines.empty() || std::find(options.engines.begin(), options.engines.end(), engine) != options.engines.end();
}

/// The committed traces, as the build unpacks them beside this program.
std::vector<std::string> committed_traces() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "traces";
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".trace") files.push_back(entry.path().string());
  }
  if (files.empty()) {
    std::fprintf(stderr, "heap_bench: no trace in %s: build the whole tree, or name traces with --trace\n", folder.c_str());
    std::exit(2);
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What the arena makes of a trace, as objects from handle size in MiB to the figure.
json arena_row(const Ops& ops) {
  json row;
  for (const ArenaFigures& figures : arena_figures(ops)) {
    const std::string mib = std::to_string(figures.handle_mib);
    row["capacity_over_live"][mib] = figure(figures.capacity_over_live, 4);
    row["capacity_over_live_without_moving"][mib] = figure(figures.capacity_without_moving, 4);
    row["handles_moved"][mib] = figures.handles_moved;
    row["held_over_live"][mib] = figure(figures.held_over_live, 4);
    row["driver_calls"][mib] = figures.driver_calls;
    row["driver_calls_of_last_pass"][mib] = figures.driver_calls_of_last_pass;
    row["virtual_driver_ms"][mib] = figure(figures.virtual_driver_ms, 2);
    row["range_over_live"][mib] = figure(figures.range_over_live, 4);
    row["leased_beyond_range_bytes"][mib] = figures.leased_beyond_range;
  }
  return row;
}

json replay_all(const Ops& ops, const Options& options) {
  json results = json::array();
  for (const ContestantKind& kind : contestants()) {
    if (!is_wanted(options, kind.name)) continue;
    // The cache's own policy makes the driver-level trace: to replay it on itself tells nothing.
    if (ops.level == "driver" && kind.name == "pytorch") continue;
    const ReplayFigures figures = replay(ops, kind, options.passes);
    results.push_back({{"trace", ops.name},
                       {"file", ops.file},
                       {"level", ops.level},
                       {"engine", kind.name},
                       {"utilisation", figure(figures.utilisation, 5)},
                       {"utilisation_average", figure(figures.utilisation_average, 5)},
                       {"ns_per_op", figure(figures.ns_per_op, 1)},
                       {"p50_ns", figure(figures.p50_ns, 1)},
                       {"p99_ns", figure(figures.p99_ns, 1)},
                       {"p999_ns", figure(figures.p999_ns, 1)},
                       {"metadata_bytes_per_block", figure(figures.metadata_bytes_per_block, 1)},
                       {"metadata_over_bar", figure(figures.metadata_over_bar, 3)},
                       {"peak_live_bytes", ops.largest_live}});
    if (kind.name == "tlsf" && options.with_arena) results.back().update(arena_row(ops));
  }
  if (ops.level == "driver") return results;
  for (const Reference& reference : references()) {
    if (!is_wanted(options, reference.name)) continue;
    const std::optional<ReferenceFigures> figures = run_reference(reference, ops, options.passes);
    if (!figures) {
      std::fprintf(stderr, "heap_bench: %s is left out: apt-get install %s\n", reference.name.c_str(), reference.package.c_str());
      continue;
    }
    results.push_back({{"trace", ops.name},
                       {"file", ops.file},
                       {"level", "sizes / 512"},
                       {"engine", reference.name},
                       {"utilisation", nullptr},
                       {"ns_per_op", figure(figures->ns_per_op, 1)},
                       {"p50_ns", figure(figures->p50_ns, 1)},
                       {"p99_ns", figure(figures->p99_ns, 1)},
                       {"p999_ns", figure(figures->p999_ns, 1)}});
  }
  return results;
}

json holes_of(const Options& options) {
  json results = json::array();
  for (const ContestantKind& kind : contestants()) {
    // First fit and PyTorch's cache search among all holes or keep them in segments: 65,536 are enough to see it.
    const bool is_slow = kind.name == "first_fit" || kind.name == "pytorch";
    if (!is_wanted(options, kind.name)) continue;
    for (const std::uint64_t holes : {4096, 16384, 65536, 1048576}) {
      if (is_slow && holes > 65536) continue;
      const HoleFigures figures = pair_among_holes(kind, holes);
      results.push_back({{"engine", kind.name},
                         {"holes", holes},
                         {"ns_per_pair", figure(figures.ns_per_pair, 1)},
                         {"p99_ns", figure(figures.p99_ns, 1)},
                         {"metadata_bytes_per_block", figure(figures.metadata_bytes_per_block, 1)}});
    }
  }
  return results;
}

json threads_of(const Options& options) {
  json results = json::array();
  for (const ContestantKind& kind : contestants()) {
    if (!is_wanted(options, kind.name)) continue;
    for (const unsigned threads : {1U, 2U, 4U, 8U}) {
      const ThreadFigures figures = storm(kind, threads);
      results.push_back({{"engine", kind.name},
                         {"threads", threads},
                         {"million_ops_per_second", figure(figures.million_ops_per_second, 2)},
                         {"foreign_frees", figure(figures.foreign_frees, 2)}});
    }
  }
  return results;
}

void print_arena(const json& report) {
  fmt::print("\n{:<26} {:>6} {:>10} {:>10} {:>7} {:>10} {:>7} {:>9} {:>10}\n", "in the arena", "handle", "capacity", "unmoved",
             "moved", "held/live", "calls", "last pass", "driver ms");
  for (const json& row : report["results"]) {
    if (!row.contains("capacity_over_live")) continue;
    for (const char* const mib : {"2", "8", "32", "128"}) {
      fmt::print("{:<26} {:>6} {:>10.4f} {:>10.4f} {:>7} {:>10.4f} {:>7} {:>9} {:>10.1f}\n", row["trace"].get<std::string>(), mib,
                 row["capacity_over_live"][mib].get<double>(), row["capacity_over_live_without_moving"][mib].get<double>(),
                 row["handles_moved"][mib].get<std::uint64_t>(), row["held_over_live"][mib].get<double>(),
                 row["driver_calls"][mib].get<std::uint64_t>(), row["driver_calls_of_last_pass"][mib].get<std::uint64_t>(),
                 row["virtual_driver_ms"][mib].get<double>());
    }
  }
}

void print_table(const json& report) {
  fmt::print("{:<26} {:<11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}\n", "trace", "engine", "util", "ns/op", "p50", "p99", "p99.9",
             "meta/blk");
  for (const json& row : report["results"]) {
    const std::string utilisation = row["utilisation"].is_null() ? "-" : fmt::format("{:.4f}", row["utilisation"].get<double>());
    fmt::print("{:<26} {:<11} {:>8} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>9.1f}\n", row["trace"].get<std::string>(),
               row["engine"].get<std::string>(), utilisation, row["ns_per_op"].get<double>(), row["p50_ns"].get<double>(),
               row["p99_ns"].get<double>(), row["p999_ns"].get<double>(), row.value("metadata_bytes_per_block", 0.0));
  }
  fmt::print("\n{:<26} {:>9} {:>9} {:>8}\n", "pair among holes", "holes", "ns/pair", "p99");
  for (const json& row : report["holes"]) {
    fmt::print("{:<26} {:>9} {:>9.1f} {:>8.1f}\n", row["engine"].get<std::string>(), row["holes"].get<std::uint64_t>(),
               row["ns_per_pair"].get<double>(), row["p99_ns"].get<double>());
  }
  fmt::print("\n{:<26} {:>9} {:>9} {:>8}\n", "storm behind one lock", "threads", "Mops/s", "foreign");
  for (const json& row : report["threads"]) {
    fmt::print("{:<26} {:>9} {:>9.2f} {:>8.2f}\n", row["engine"].get<std::string>(), row["threads"].get<unsigned>(),
               row["million_ops_per_second"].get<double>(), row["foreign_frees"].get<double>());
  }
  print_arena(report);
  fmt::print("\n");
  for (const json& bar : report["bars"]) {
    const bool is_most = bar.contains("at_most");
    fmt::print("{:<8} {}: {} (at {} {}), {}\n", bar["met"].get<bool>() ? "met" : "NOT MET", bar["bar"].get<std::string>(),
               bar["worst"].get<double>(), is_most ? "most" : "least", bar[is_most ? "at_most" : "at_least"].get<double>(),
               bar["where"].get<std::string>());
  }
}

/// A name that nobody has is a mistake, not an empty result.
void check_engines(const Options& options) {
  for (const std::string& wanted : options.engines) {
    std::string known;
    bool found = false;
    for (const ContestantKind& kind : contestants()) {
      found = found || kind.name == wanted;
      known += kind.name + " ";
    }
    for (const Reference& reference : references()) {
      found = found || reference.name == wanted;
      known += reference.name + " ";
    }
    if (found) continue;
    std::fprintf(stderr, "heap_bench: no engine is called %s; there are: %s\n", wanted.c_str(), known.c_str());
    std::exit(2);
  }
}

int run(const Options& options) {
  check_engines(options);
  const std::vector<std::string> files = options.traces.empty() ? committed_traces() : options.traces;
  json report;
  report["clock_overhead_ns"] = figure(clock().overhead_ticks * clock().ns_per_tick, 1);
  report["passes"] = options.passes;
  report["alignment"] = kAlignment;
  report["results"] = json::array();
  for (const std::string& file : files) {
    const Ops tensors = read_ops(file);
    const Ops segments = driver_level(tensors);
    for (const Ops* const ops : {&tensors, &segments}) {
      for (json& row : replay_all(*ops, options)) report["results"].push_back(std::move(row));
    }
    if (options.picture.empty()) continue;
    if (!draw(tensors, contestants().front(), options.picture)) {
      std::fprintf(stderr, "heap_bench: %s cannot be written\n", options.picture.c_str());
      return 1;
    }
  }
  report["holes"] = holes_of(options);
  report["threads"] = threads_of(options);
  report["bars"] = bars_of(report);
  if (options.as_json) {
    std::printf("%s\n", report.dump(1).c_str());
  } else {
    print_table(report);
  }
  return 0;
}

}  // namespace
}  // namespace cupool::bench

int main(int argc, char** argv) {
  cupool::bench::Options options;
  CLI::App app{"Replays allocation traces on our heaps and on others, and prints what each made of them."};
  app.add_option("--trace", options.traces, "trace files (text or binary; default: the committed ones)")->check(CLI::ExistingFile);
  app.add_option("--engine", options.engines, "only these engines (default: all)");
  app.add_option("--passes", options.passes, "how often each trace is played")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--picture", options.picture, "write an SVG of address space over time (of the last trace, on tlsf)");
  app.add_flag("!--no-arena", options.with_arena, "leave out what needs the arena: smallest capacity, held memory, driver calls");
  app.add_flag("--json", options.as_json, "print JSON instead of tables");
  CLI11_PARSE(app, argc, argv);
  return cupool::bench::run(options);
}
