// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/simgpu/entry_id.h"

namespace cupool::simgpu {

struct Device;

/// How simulated costs are spent. SIMGPU_COSTS: "off", "virtual" (the default: a clock that only tests and events read) or "real"
/// (the call also takes that long), "real*0.1" a tenth of it.
enum class CostMode { off, virtual_time, real_time };

/// Time that driver calls and device work would have taken, in nanoseconds since the process started. Thread-safe, never goes back.
class VirtualClock {
 public:
  std::uint64_t now_ns() const;
  /// The calling thread spends `nanoseconds` in a call; in real mode it waits that long.
  void spend(std::uint64_t nanoseconds);
};
VirtualClock& virtual_clock();
CostMode cost_mode();

/// Cost of one call of an entry point that moves or maps `bytes`: the table in cost.cpp, with its sources.
std::uint64_t call_cost_ns(EntryId entry, std::uint64_t bytes);

enum class CopyPath { host_to_device, device_to_host, device_to_device, peer, set };

/// Time that moving `bytes` takes on a device's links and memory.
std::uint64_t copy_cost_ns(const Device& device, CopyPath path, std::uint64_t bytes);

}  // namespace cupool::simgpu
