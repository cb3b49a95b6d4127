// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/outcome.h"

#include <algorithm>
#include <cstdio>

namespace cupool::simgpu::ptx {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string triple(const std::uint32_t (&values)[3]) {
  return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + ")";
}

/// The instruction as it is written on that line of the text, without leading blanks.
std::string line_of(std::string_view source, std::uint32_t line) {
  for (std::uint32_t at = 1; at < line; ++at) {
    const std::size_t end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  source = source.substr(0, source.find('\n'));
  while (!source.empty() && (source.front() == ' ' || source.front() == '\t')) source.remove_prefix(1);
  while (!source.empty() && (source.back() == '\r' || source.back() == ' ')) source.remove_suffix(1);
  return std::string(source.substr(0, 200));
}

std::string access(const Fault& fault) {
  const char* where = fault.where == Fault::Where::shared  ? " of shared memory"
                      : fault.where == Fault::Where::local ? " of local memory"
                      : fault.where == Fault::Where::param ? " of the parameters"
                                                           : "";
  return std::string(fault.write ? "write" : "read") + " of " + std::to_string(fault.size) + " bytes at " + hex(fault.address) +
         where;
}

std::string what(const Fault& fault) {
  switch (fault.kind) {
    case Outcome::Kind::illegal_address:
      return "illegal " + access(fault);
    case Outcome::Kind::misaligned:
      return "misaligned " + access(fault);
    case Outcome::Kind::trap:
      return "trap";
    case Outcome::Kind::assert_failed:
      return "assertion failed";
    case Outcome::Kind::stopped:
      return "stopped";
    case Outcome::Kind::timeout:
      return "ran longer than its limit";
    case Outcome::Kind::deadlock:
      return "threads wait for each other for ever";
    case Outcome::Kind::unsupported:
      return "a function is called with other arguments than it has";
    default:
      return "";
  }
}

}  // namespace

std::string describe_detail(Worker& worker) {
  const Fault& fault = worker.fault;
  if (fault.kind == Outcome::Kind::assert_failed) {
    return read_text(worker, fault.file) + ":" + std::to_string(fault.file_line) + ": " + read_text(worker, fault.function) +
           ": assertion `" + read_text(worker, fault.message) + "` failed";
  }
  if (fault.kind == Outcome::Kind::illegal_address && fault.where == Fault::Where::global && worker.state->control.check) {
    return worker.state->memory.check(fault.address, fault.size, fault.write).neighbour;
  }
  return {};
}

Outcome describe(const CompiledKernel& kernel, LaunchState& state) {
  Outcome outcome;
  // The workers have returned: the lock is for the analysis only.
  const std::lock_guard lock(state.mutex);
  const Fault& fault = state.fault;
  outcome.kind = fault.kind;
  if (fault.kind == Outcome::Kind::ok) return outcome;
  outcome.address = fault.address;
  outcome.line = fault.line;
  const Dim3& grid = state.launch.grid;
  outcome.block[0] = static_cast<std::uint32_t>(fault.block % grid.x);
  outcome.block[1] = static_cast<std::uint32_t>(fault.block / grid.x % grid.y);
  outcome.block[2] = static_cast<std::uint32_t>(fault.block / grid.x / grid.y);
  std::copy(fault.thread, fault.thread + 3, outcome.thread);
  outcome.message = "kernel '" + kernel.plan.info.name + "': ";
  if (fault.line != 0) {
    outcome.message += "ptx line " + std::to_string(fault.line);
    const std::string text = line_of(kernel.source, fault.line);
    if (!text.empty()) outcome.message += " (" + text + ")";
    outcome.message += ": ";
  }
  outcome.message += what(fault) + "; block " + triple(outcome.block) + ", thread " + triple(outcome.thread);
  if (!state.detail.empty()) outcome.message += "; " + state.detail;
  return outcome;
}

}  // namespace cupool::simgpu::ptx
