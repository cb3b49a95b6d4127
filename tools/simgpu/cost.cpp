// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/cost.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tools/simgpu/device.h"

namespace cupool::simgpu {
namespace {

// One line per call that costs more than kOrdinaryCall. Sources:
//  V  vAttention, arXiv 2405.04437, table 3: 2 MiB pages
//  G  GMLake, arXiv 2401.08156, table 1, A100: setting access to a 128 MiB handle costs 9 times as much as creating it
//  K  kvcached's measurements (GB10): cuMemGetInfo about 6 us
//  E  an estimate of ours of the usual magnitude on current systems, to be replaced by a measurement
struct CallCost {
  EntryId entry;
  std::uint64_t fixed_ns;
  std::uint64_t per_mib_ns;
};
constexpr std::uint64_t kOrdinaryCallNs = 150;  // E
constexpr std::array kCallCosts = {
    CallCost{EntryId::cuMemAddressReserve, 2'000, 0},      // V
    CallCost{EntryId::cuMemAddressFree, 1'000, 0},         // V
    CallCost{EntryId::cuMemCreate, 27'000, 1'000},         // V at 2 MiB, E beyond
    CallCost{EntryId::cuMemRelease, 23'000, 0},            // V
    CallCost{EntryId::cuMemMap, 2'000, 0},                 // V
    CallCost{EntryId::cuMemUnmap, 34'000, 0},              // V
    CallCost{EntryId::cuMemSetAccess, 30'000, 4'000},      // V at 2 MiB, G at 128 MiB
    CallCost{EntryId::cuMemAlloc_v2, 50'000, 1'500},       // E, slope from G: 2 GiB about as much as 16 handles of 128 MiB created
    CallCost{EntryId::cuMemAllocPitch_v2, 50'000, 1'500},  // E as cuMemAlloc
    CallCost{EntryId::cuMemFree_v2, 50'000, 500},          // E
    CallCost{EntryId::cuMemAllocManaged, 60'000, 100},     // E
    CallCost{EntryId::cuMemHostAlloc, 100'000, 250'000},   // E: pinning 4 KiB pages
    CallCost{EntryId::cuMemAllocHost_v2, 100'000, 250'000},    // E
    CallCost{EntryId::cuMemFreeHost, 50'000, 50'000},          // E
    CallCost{EntryId::cuMemHostRegister_v2, 50'000, 100'000},  // E
    CallCost{EntryId::cuMemAllocAsync, 1'500, 0},              // E
    CallCost{EntryId::cuMemFreeAsync, 1'000, 0},               // E
    CallCost{EntryId::cuMemGetInfo_v2, 6'000, 0},              // K
    CallCost{EntryId::cuDevicePrimaryCtxRetain, 300'000, 0},   // E when it is there already; creation is 200 ms and not simulated
    CallCost{EntryId::cuLaunchKernel, 2'500, 0},               // E
    CallCost{EntryId::cuLaunchKernelEx, 2'500, 0},             // E
    CallCost{EntryId::cuGraphLaunch, 5'000, 0},                // E
    CallCost{EntryId::cuEventRecord, 500, 0},                  // E
    CallCost{EntryId::cuModuleLoadData, 200'000, 500'000},     // E
    CallCost{EntryId::cuIpcOpenMemHandle_v2, 100'000, 0},      // E
};

// Every copy has a start-up time: E, about what small copies take.
constexpr std::uint64_t kCopyLatencyNs = 1'200;

constexpr std::array<CallCost, kEntryCount> by_entry() {
  std::array<CallCost, kEntryCount> table{};
  for (CallCost& cost : table) cost.fixed_ns = kOrdinaryCallNs;
  for (const CallCost& cost : kCallCosts) table[static_cast<std::size_t>(cost.entry)] = cost;
  return table;
}
constexpr std::array<CallCost, kEntryCount> kCosts = by_entry();

struct Settings {
  CostMode mode = CostMode::virtual_time;
  double factor = 1.0;
};

const Settings& settings() {
  static const Settings read = [] {
    Settings result;
    const char* variable = std::getenv("SIMGPU_COSTS");
    const std::string_view text = variable == nullptr ? "" : variable;
    if (text == "off") result.mode = CostMode::off;
    if (text.substr(0, 4) == "real") {
      result.mode = CostMode::real_time;
      if (text.size() > 5 && text[4] == '*') result.factor = std::strtod(variable + 5, nullptr);
    }
    return result;
  }();
  return read;
}

// Relaxed: a sum that nobody orders anything by.
std::atomic<std::uint64_t> g_spent_ns{0};

void wait_really(std::uint64_t nanoseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  // A sleep is late by tens of microseconds: short waits spin.
  if (nanoseconds > 200'000) std::this_thread::sleep_until(until - std::chrono::microseconds(100));
  while (std::chrono::steady_clock::now() < until) {
  }
}

}  // namespace

VirtualClock& virtual_clock() {
  static constinit VirtualClock clock;
  return clock;
}

CostMode cost_mode() {
  return settings().mode;
}

std::uint64_t VirtualClock::now_ns() const {
  return g_spent_ns.load(std::memory_order_relaxed);
}

void VirtualClock::spend(std::uint64_t nanoseconds) {
  const Settings& how = settings();
  if (how.mode == CostMode::off || nanoseconds == 0) return;
  g_spent_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
  if (how.mode == CostMode::real_time) wait_really(static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * how.factor));
}

std::uint64_t call_cost_ns(EntryId entry, std::uint64_t bytes) {
  const CallCost& cost = kCosts[static_cast<std::size_t>(entry)];
  if (bytes == 0) return cost.fixed_ns;
  return cost.fixed_ns + static_cast<std::uint64_t>(static_cast<double>(bytes) / (1 << 20) * static_cast<double>(cost.per_mib_ns));
}

std::uint64_t copy_cost_ns(const Device& device, CopyPath path, std::uint64_t bytes) {
  const DeviceModel& model = *device.model;
  double gbps = model.host_gbps;
  if (path == CopyPath::device_to_device) gbps = model.device_gbps / 2;  // read and written
  if (path == CopyPath::set) gbps = model.device_gbps;
  if (path == CopyPath::peer && model.peer_gbps > 0) gbps = model.peer_gbps;
  return kCopyLatencyNs + static_cast<std::uint64_t>(static_cast<double>(bytes) / gbps);
}

}  // namespace cupool::simgpu
