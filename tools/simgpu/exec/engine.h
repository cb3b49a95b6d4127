// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/simgpu/exec/scheduler.h"

namespace cupool::simgpu {

/// The process's scheduler, made at first use and never destroyed: its threads outlive static destruction. It waits for costs
/// really when SIMGPU_COSTS says "real"; when costs are off, its clock is the machine's.
Scheduler& scheduler();

/// The host's time for new work: work that is handed in now cannot start earlier. Zero when time is not virtual.
std::uint64_t host_now_ns();

/// The host has waited for something that ended at `end_ns` of the scheduler's clock: its virtual time moves there.
void host_waited_until(std::uint64_t end_ns);

}  // namespace cupool::simgpu
