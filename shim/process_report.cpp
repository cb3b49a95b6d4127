// SPDX-License-Identifier: Apache-2.0
#include "shim/process_report.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "policy/base/log.h"
#include "policy/report_path.h"
#include "shim/abi/preload_protocol.h"
#include "shim/entry_table.h"
#include "shim/process.h"
#include "shim/report/region.h"
#include "shim/report/report.h"
#include "shim/report/report_file.h"
#include "shim/session.h"

namespace cupool::shim {
namespace {

static_assert(CUPOOL_SLOT_COUNT <= report::kMaxEntries, "report/journal.h: raise kMaxEntries");

constinit bool g_writes_own_report = false;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

/// The words of the command line; a script's interpreter counts as part of it.
std::string command_name(const report::ProcessRecord& record) {
  return std::filesystem::path(std::string(record.executable.data(), strnlen(record.executable.data(), record.executable.size())))
      .filename()
      .string();
}

policy::Read<std::string> own_report_path(const Governor& governor, const report::ProcessRecord& record, const std::string& host) {
  policy::ReportPathParts parts;
  parts.command = command_name(record);
  parts.process = std::to_string(record.pid);
  parts.run = governor.variable("CUPOOL_RUN").value_or(parts.process);
  parts.host = host;
  parts.state_directory = policy::host::state_directory_of(governor.environment());
  if (parts.state_directory.empty()) parts.state_directory = "/tmp/cupool-" + std::to_string(getuid());
  parts.variable = [&](std::string_view name) { return governor.variable(name); };
  return policy::expand_report_path(governor.settings().report.value_or(governor.report_rules().path), parts);
}

void write_own_report(const report::ProcessRecord& record) {
  const Governor& governor = process().governor();
  report::RunFacts run;
  run.host = host_name();
  const policy::Read<std::string> path = own_report_path(governor, record, run.host);
  if (!path.value) return log::write(log::Level::warning, "no report: " + path.reason);
  run.id = governor.variable("CUPOOL_RUN").value_or(std::to_string(record.pid));
  run.command = command_name(record);
  run.version = CUPOOL_VERSION;
  run.policy_path = governor.policy_name();
  run.policy_effective = governor.effective_policy();
  const Result<std::string> written = report::write_new_file(*path.value, report::to_json(run, {&record}), record.pid);
  if (!written) return log::write(log::Level::warning, std::string(written.error().detail) + " (" + *path.value + ")");
  log::write(log::Level::info, "report: " + *written);
}

/// Runs when the process ends in an orderly way. No driver call: the driver may be gone.
void at_end() {
  const report::ProcessRecord* record = recorder().record();
  // A child that came by vfork or clone shares our memory and may run our handlers: it is not us.
  if (record == nullptr || record->pid != static_cast<std::uint32_t>(getpid()) || record->state.load() == report::State::finished)
    return;
  recorder().finish();
  try {
    if (g_writes_own_report) write_own_report(*record);
  } catch (...) {
    log::write(log::Level::warning, "no report: the host is out of memory");
  }
}

std::uint32_t flags_of(const Governor& governor) {
  std::uint32_t flags = report::kFlagPerProcess;
  const policy::ReportRules rules = governor.report_rules();
  if (rules.call_sites) flags |= report::kFlagCallSites;
  if (rules.timeline) flags |= report::kFlagTimeline;
  if (governor.stance() == Stance::off || governor.stance() == Stance::open) flags |= report::kFlagUngoverned;
  return flags;
}

}  // namespace

void begin_process_report() {
  const Governor& governor = process().governor();
  const std::string journal = governor.variable("CUPOOL_JOURNAL").value_or("");
  const report::Claim claim = report::claim_record(journal.c_str());
  const Governor::Membership membership = governor.membership();
  const std::string policy_name = governor.policy_name();
  report::ProcessFacts facts;
  facts.job = governor.job();
  facts.job_class = membership.job_class;
  facts.policy_source = policy_name;
  facts.policy_rule = membership.reason;
  facts.flags = flags_of(governor);
  recorder().begin(claim.record, facts);
  for (std::uint32_t slot = 0; slot < CUPOOL_SLOT_COUNT; ++slot) recorder().name_entry(slot, slot_name(slot));
  if (!journal.empty() && !claim.from_region) recorder().warn(claim.why_not);
  if (!governor.reason().empty()) recorder().warn(governor.reason());
  g_writes_own_report = !claim.from_region;
  static constinit bool registered = false;
  if (registered) return;  // a forked child has inherited the handlers
  registered = true;
  std::atexit(&at_end);
  at_quick_exit(&at_end);
}

}  // namespace cupool::shim
