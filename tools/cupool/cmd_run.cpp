// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "policy/encode.h"
#include "policy/report_path.h"
#include "shim/report/region.h"
#include "shim/report/report.h"
#include "shim/report/report_file.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/launch/program.h"
#include "tools/cupool/launch/run_options.h"
#include "tools/cupool/launch/run_plan.h"

namespace cupool::tool {
namespace {

/// The launcher's own failures, as `env` and `timeout` number them.
enum LauncherCode : int { kLauncherFailed = 125, kNotExecutable = 126, kNotFound = 127 };

int refuse(const std::string& why, int code = kLauncherFailed) {
  cannot_run(why);
  return code;
}

/// Runs the probe as the program will run: does the preload load there, and answer?
std::string probe_fault(const Installation& installation, const std::vector<EnvironmentChange>& environment) {
  const std::string& list = environment.front().second;  // LD_PRELOAD, our library first
  const std::string preload = list.substr(0, list.find(':'));
  const std::optional<int> status = run_quietly(installation.probe, {installation.probe, preload}, environment, 20'000);
  if (!status) return "the probe of the preload did not end: " + installation.probe;
  switch (*status) {
    case 0:
    case 5:  // no driver here: the program will find none either, and nothing can escape
      return "";
    case 3:
      return "the loader did not load " + installation.preload + " (is it readable, and built for this system?)";
    case 4:
      return "the driver's names do not lead to cupool although it is loaded: its core cannot start (see the line above), or "
             "another preload answers in front of it";
    default:
      return fmt::format("the probe of the preload ended with status {}: {} cannot be loaded on this system", *status,
                         installation.preload);
  }
}

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  name.resize(std::strlen(name.c_str()));
  return name;
}

/// Where the report of this run goes: the flag, the variable, the policy.
tl::expected<std::string, std::string> report_path(const RunRequest& request, const policy::host::Governance& governance,
                                                   const std::string& run_id) {
  const policy::host::Environment environment = policy::host::process_environment();
  const policy::host::Settings settings = policy::host::read_settings(environment);
  const policy::NamedPolicy& speaker = governance.layers.own ? *governance.layers.own : governance.layers.governing;
  policy::ReportPathParts parts;
  parts.command = std::filesystem::path(request.command.front()).filename().string();
  parts.process = std::to_string(getpid());
  parts.run = run_id;
  parts.host = host_name();
  parts.state_directory = policy::host::state_directory_of(environment);
  if (parts.state_directory.empty()) parts.state_directory = fmt::format("/tmp/cupool-{}", getuid());
  parts.variable = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const auto expanded =
      policy::expand_report_path(request.report ? *request.report : settings.report.value_or(speaker.policy.report.path), parts);
  if (!expanded.value) return tl::unexpected("the report's path: " + expanded.reason);
  return *expanded.value;
}

struct Totals {
  std::uint64_t processes = 0, peak = 0, limit = 0, refusals = 0, waits = 0, wait_ns = 0;
  bool governed = true;
};

Totals totals_of(const std::vector<const report::ProcessRecord*>& records) {
  Totals totals;
  const auto value = [](const report::Counter& counter) { return counter.load(std::memory_order_relaxed); };
  for (const report::ProcessRecord* record : records) {
    ++totals.processes;
    totals.governed &= (record->flags.load(std::memory_order_relaxed) & report::kFlagUngoverned) == 0;
    for (std::uint32_t index = 0; index < std::min<std::uint32_t>(record->device_count.load(), report::kMaxDevices); ++index) {
      const report::DeviceRecord& device = record->devices[index];
      totals.peak += value(device.peak_live_bytes);
      totals.limit = std::max(totals.limit, value(device.limit_bytes));
      totals.refusals += value(device.refusals);
      totals.waits += value(device.waits);
      totals.wait_ns += value(device.wait_ns);
    }
  }
  return totals;
}

std::string end_text(const ChildEnd& end) {
  return end.code ? fmt::format("exit {}", *end.code) : fmt::format("signal {} ({})", *end.signal, sigabbrev_np(*end.signal));
}

/// Says what happened, on standard error: always when something was refused or not governed, else when asked.
void summarise(const Session& session, bool wanted, const std::string& run_id, const ChildEnd& end,
               const std::vector<const report::ProcessRecord*>& records, const std::string& written) {
  if (session.quiet) return;
  const Totals totals = totals_of(records);
  if (totals.processes == 0) {
    fmt::print(stderr, "cupool: run {}: no process of this command called CUDA, nothing was governed\n", run_id);
    return;
  }
  if (!totals.governed)
    fmt::print(stderr, "cupool: run {}: NOT GOVERNED: allocations passed through without a policy (see the report)\n", run_id);
  if (!wanted && session.verbosity == 0 && totals.refusals == 0 && totals.governed) return;
  fmt::print(stderr, "cupool: run {}  {}  peak {} of limit {}  waited {}x {:.1f} s  refused {}\n", run_id, end_text(end),
             to_text(Bytes{totals.peak}), to_text(Bytes{totals.limit}), totals.waits, static_cast<double>(totals.wait_ns) / 1e9,
             totals.refusals);
  if (!written.empty()) fmt::print(stderr, "cupool: report: {}   view: cupool report {}\n", written, written);
}

struct Prepared {
  Installation installation;
  policy::host::Governance governance;
  std::string report;
};

tl::expected<Prepared, std::string> prepare(const RunRequest& request, const std::string& run_id) {
  Result<Installation> installation = find_installation();
  if (!installation) return tl::unexpected(std::string(installation.error().detail));
  auto governance = read_policy(request);
  if (!governance) return tl::unexpected(governance.error());
  auto path = report_path(request, *governance, run_id);
  if (!path) return tl::unexpected(path.error());
  return Prepared{std::move(*installation), std::move(*governance), std::move(*path)};
}

report::RunFacts facts_of(const RunRequest& request, const std::string& run_id, const Prepared& prepared, const ChildEnd& end,
                          const report::Region& region) {
  report::RunFacts facts;
  facts.id = run_id;
  for (const std::string& word : request.command) facts.command += (facts.command.empty() ? "" : " ") + word;
  facts.host = host_name();
  facts.version = CUPOOL_VERSION;
  facts.launched = true;
  facts.exit_code = end.code;
  facts.exit_signal = end.signal;
  facts.turned_away = region.turned_away();
  if (prepared.governance.chosen)
    facts.policy_path = prepared.governance.chosen->file.path;
  else if (prepared.governance.system)
    facts.policy_path = prepared.governance.system->file.path;
  facts.policy_effective = policy::encode_document(prepared.governance.layers.governing.policy);
  facts.warnings = prepared.governance.notes;
  return facts;
}

int run_command(const RunRequest& request, bool summary, const Session& session) {
  const std::string run_id = new_run_id();
  const ProgramCheck program = check_program(request.command.front());
  switch (program.finding) {
    case ProgramCheck::Finding::fits:
      break;
    case ProgramCheck::Finding::not_found:
      return refuse(program.reason, kNotFound);
    case ProgramCheck::Finding::not_executable:
      return refuse(program.reason, kNotExecutable);
    case ProgramCheck::Finding::unreachable:
      return refuse(program.reason + "; it would run without any limit, so it is not started");
  }
  if (request.sim && program.needs_vendor_runtime) {
    return refuse(
        program.path +
        " is linked with the vendor's CUDA runtime, which works with the vendor's driver only: it cannot run on a simulated GPU");
  }
  auto prepared = prepare(request, run_id);
  if (!prepared) return refuse(prepared.error());
  auto folder = RunFolder::create();
  if (!folder) return refuse(folder.error().detail);
  auto region = report::Region::create(run_id);
  if (!region) return refuse(region.error().detail);
  const auto environment = plan_environment(request, prepared->installation, folder->path(), run_id, region->path());
  if (!environment) return refuse(environment.error());
  if (prepared->governance.state == policy::host::Governance::State::governed) {
    if (const std::string fault = probe_fault(prepared->installation, *environment); !fault.empty())
      return refuse(fault + "; the program is not started, because it would run without any limit");
  }
  const Result<ChildEnd> end = run_child(request.command.front(), request.command, *environment);
  if (!end)
    return refuse(request.command.front() + ": " + end.error().detail,
                  end.error().code == Errc::not_found ? kNotFound : kNotExecutable);
  const auto records = region->records();
  std::string written;
  if (!records.empty()) {
    const std::string json = report::to_json(facts_of(request, run_id, *prepared, *end, *region), records);
    const Result<std::string> path = report::write_new_file(prepared->report, json, static_cast<std::uint32_t>(getpid()));
    if (path)
      written = *path;
    else
      fmt::print(stderr, "cupool: warning: {} ({})\n", path.error().detail, prepared->report);
  }
  summarise(session, summary, run_id, *end, records, written);
  { const RunFolder remove_now = std::move(*folder); }
  end_like(*end);
}

}  // namespace

void add_run(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "run", "Run a program under the policy and write its report",
                                  {"cupool run --policy lab.json -- python train.py", "cupool run --sim 16GiB -- python train.py"});
  auto request = std::make_shared<RunRequest>();
  auto summary = std::make_shared<bool>(false);
  add_run_options(*command, *request);
  command->add_option("--report", request->report, "Where the report goes: a path with the placeholders of report.path")
      ->option_text("FILE");
  command->add_flag("--summary", *summary, "Say at the end what was used (always said when something was refused)");
  command->add_option("COMMAND", request->command, "The program and its arguments")->required()->option_text(" ");
  command->prefix_command(false)->positionals_at_end();
  command->callback([request, summary, &session] {
    session.action = [request, summary, &session] { return run_command(*request, *summary, session); };
  });
}

}  // namespace cupool::tool
