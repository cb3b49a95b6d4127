// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/launch/run_plan.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "policy/value.h"

namespace cupool::tool {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// `first` in front of a list that the loader splits at colons (and, for LD_PRELOAD, blanks); later mentions of it are dropped.
std::string prepended(const std::string& first, const std::string& list, const char* separators) {
  std::string result = first;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, at), list.size());
    const std::string entry = list.substr(at, end - at);
    if (!entry.empty() && entry != first) result += ":" + entry;
    at = end + 1;
  }
  return result;
}

/// A policy that is named by a path must still be found after the program has changed its directory.
std::string absolute_if_path(const std::string& policy) {
  if (policy.find('/') == std::string::npos && !std::filesystem::exists(policy)) return policy;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(policy, error);
  return error ? policy : absolute.string();
}

}  // namespace

tl::expected<SimulatedGpus, std::string> parse_sim(const std::string& text) {
  SimulatedGpus gpus;
  const std::size_t times = text.find_last_of("xX");
  // "0x10" is no size: an x counts only after the unit.
  const bool has_count =
      times != std::string::npos && times + 1 < text.size() && text.find_first_not_of("0123456789", times + 1) == std::string::npos;
  gpus.memory = has_count ? text.substr(0, times) : text;
  if (has_count) {
    const unsigned long count = std::strtoul(text.c_str() + times + 1, nullptr, 10);
    if (count == 0 || count > 8) return tl::unexpected(fmt::format("--sim {}: 1 to 8 GPUs can be simulated", text));
    gpus.count = static_cast<unsigned>(count);
  }
  const auto size = policy::read_size(gpus.memory);
  if (!size.value) return tl::unexpected(fmt::format("--sim {}: {}", text, size.reason));
  return gpus;
}

tl::expected<std::vector<EnvironmentChange>, std::string> plan_environment(const RunRequest& request,
                                                                           const Installation& installation,
                                                                           const std::string& run_folder, const std::string& run_id,
                                                                           const std::string& journal) {
  std::vector<EnvironmentChange> changes;
  const Result<std::string> preload = loadable_path(installation.preload, run_folder);
  if (!preload) return tl::unexpected(std::string(preload.error().detail));
  changes.emplace_back("LD_PRELOAD", prepended(*preload, variable("LD_PRELOAD"), ": "));
  if (request.policy) changes.emplace_back("CUPOOL_POLICY", absolute_if_path(*request.policy));
  if (request.job_class) changes.emplace_back("CUPOOL_CLASS", *request.job_class);
  if (request.job)
    changes.emplace_back("CUPOOL_JOB", *request.job);
  else if (variable("CUPOOL_JOB").empty())
    changes.emplace_back("CUPOOL_JOB", run_id);
  if (request.report) changes.emplace_back("CUPOOL_REPORT", std::filesystem::absolute(*request.report).string());
  changes.emplace_back("CUPOOL_RUN", run_id);
  if (!journal.empty()) changes.emplace_back("CUPOOL_JOURNAL", journal);
  if (request.sim) {
    const auto gpus = parse_sim(*request.sim);
    if (!gpus) return tl::unexpected(gpus.error());
    if (!std::filesystem::exists(installation.simgpu + "/libcuda.so.1")) {
      return tl::unexpected("--sim: the simulated driver is not installed (" + installation.simgpu + "/libcuda.so.1 is missing)");
    }
    const Result<std::string> libraries = loadable_folder(installation.simgpu, run_folder);
    if (!libraries) return tl::unexpected(std::string(libraries.error().detail));
    changes.emplace_back("LD_LIBRARY_PATH", prepended(*libraries, variable("LD_LIBRARY_PATH"), ":"));
    changes.emplace_back("SIMGPU_MEMORY", gpus->memory);
    changes.emplace_back("SIMGPU_GPUS", std::to_string(gpus->count));
    if (variable("SIMGPU_DIR").empty()) changes.emplace_back("SIMGPU_DIR", run_folder + "/simgpu");
  }
  return changes;
}

tl::expected<policy::host::Governance, std::string> read_policy(const RunRequest& request) {
  const policy::host::Environment environment = policy::host::process_environment();
  policy::host::Governance governance = policy::host::read_governance(policy::host::read_settings(environment), request.policy,
                                                                      request.job_class, policy::host::places_of(environment));
  if (governance.state == policy::host::Governance::State::broken) return tl::unexpected(governance.reason);
  return governance;
}

std::string new_run_id() {
  std::random_device source;
  return fmt::format("{:08x}", source());
}

}  // namespace cupool::tool
