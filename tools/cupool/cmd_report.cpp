// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "policy/host/governance.h"
#include "shim/report/report.h"
#include "shim/report/report_file.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/report_view/views.h"

namespace cupool::tool {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> files;
  std::string html, to, output;
};

/// A report is some hundred kilobytes; what is larger is something else, such as a device.
constexpr std::uintmax_t kLargest = 256u << 20;

tl::expected<std::string, std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return tl::unexpected(path + ": no such file (or no plain file)");
  if (fs::file_size(path, error) > kLargest) return tl::unexpected(path + ": too large to be a report");
  std::ifstream file(path, std::ios::binary);
  if (!file) return tl::unexpected(path + ": may not be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The newest report in the state directory.
std::optional<std::string> latest_report() {
  std::string state = policy::host::state_directory_of(policy::host::process_environment());
  if (state.empty()) state = fmt::format("/tmp/cupool-{}", getuid());
  std::optional<std::string> newest;
  fs::file_time_type when{};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(state) / "cupool", error)) {
    if (entry.path().extension() != ".json") continue;
    const fs::file_time_type written = entry.last_write_time(error);
    if (!newest || written > when) newest = entry.path().string(), when = written;
  }
  return newest;
}

tl::expected<Json, std::string> read_reports(const std::vector<std::string>& files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    // One at a time first, so that the message can name the file.
    if (const report::MergeOutcome alone = report::merge({*text}); !alone.error.empty()) {
      return tl::unexpected(file + alone.error.substr(std::string("report 1").size()));
    }
    texts.push_back(std::move(*text));
  }
  return Json::parse(report::merge(texts).json);
}

int put(const std::string& text, const std::string& file) {
  if (file.empty() || file == "-") {
    fmt::print("{}", text);
    return kOk;
  }
  const Result<std::string> written = report::write_new_file(file, text, static_cast<std::uint32_t>(getpid()));
  if (!written) return cannot_run(fmt::format("{}: {}", file, written.error().detail));
  fmt::print(stderr, "cupool: wrote {}\n", *written);
  return kOk;
}

int show(Options options, const Session& session) {
  if (options.files.empty()) {
    const std::optional<std::string> latest = latest_report();
    if (!latest) return cannot_run("there is no report yet; run a program with cupool run, or name a file");
    options.files.push_back(*latest);
    if (!session.quiet) fmt::print(stderr, "cupool: showing {}\n", *latest);
  }
  const auto report = read_reports(options.files);
  if (!report) return cannot_run(report.error());
  if (!options.html.empty()) return put(to_html(*report), options.html);
  if (options.to == "memory-viz") return put(to_memory_viz(*report), options.output);
  if (options.to == "chrome-trace") return put(to_chrome_trace(*report), options.output);
  if (session.json) return put(report->dump(2, ' ', false, Json::error_handler_t::replace) + "\n", options.output);
  fmt::print("{}", to_table(*report));
  if (!session.quiet) fmt::print("next: --html out.html | --to memory-viz | --to chrome-trace | --json\n");
  return kOk;
}

}  // namespace

void add_report(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "report", "Show a report, the latest one, or several as one",
                                  {"cupool report", "cupool report train.json --html train.html"});
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Reports; without any, the latest")->option_text(" ");
  command->add_option("--html", options->html, "Write one self-contained page with pictures")->option_text("FILE");
  command->add_option("--to", options->to, "memory-viz (pytorch.org/memory_viz) or chrome-trace (ui.perfetto.dev)")
      ->check(CLI::IsMember({"memory-viz", "chrome-trace"}))
      ->option_text("FORMAT");
  command->add_option("-o,--output", options->output, "Where --to and --json write; without it, standard output")
      ->option_text("FILE");
  command->callback([options, &session] { session.action = [options, &session] { return show(*options, session); }; });
}

}  // namespace cupool::tool
