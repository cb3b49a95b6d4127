// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/engine.h"

#include "tools/simgpu/cost.h"

namespace cupool::simgpu {

Scheduler& scheduler() {
  static Scheduler* const instance =
      new Scheduler(cost_mode() == CostMode::virtual_time ? Scheduler::Pacing::virtual_time : Scheduler::Pacing::real);
  return *instance;
}

std::uint64_t host_now_ns() {
  return cost_mode() == CostMode::virtual_time ? virtual_clock().now_ns() : 0;
}

void host_waited_until(std::uint64_t end_ns) {
  if (cost_mode() != CostMode::virtual_time) return;
  const std::uint64_t now = virtual_clock().now_ns();
  if (end_ns > now) virtual_clock().spend(end_ns - now);
}

}  // namespace cupool::simgpu
