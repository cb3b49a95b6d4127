// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tools/simgpu/exec/scheduler.h"

namespace cupool::simgpu {

/// One submitted piece of work. Private to the scheduler; recycled with its vectors, so that steady submission allocates nothing.
struct Work {
  enum class State : std::uint8_t { waiting, queued, running, parked, done };

  explicit Work(Scheduler& scheduler) : owner(scheduler) {}

  Scheduler& owner;
  std::atomic<std::uint32_t> refs{0};
  // Release-stored last, after end_ns and code: a fence reads those only after an acquire load that saw true.
  std::atomic<bool> done{false};
  State state = State::waiting;
  bool on_host_thread = false;
  bool after_failure = false;
  unsigned polls = 0;  ///< how often its condition was asked for and did not hold
  bool has_host_waiter = false;
  int bucket = 0;
  int code = 0;
  std::uint64_t cost_ns = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  /// What is not done yet of what it depends on. Each of them is kept alive by the scheduler, because it is not done.
  std::vector<Work*> depends_on;
  std::vector<Work*> waiters;
  Work* previous = nullptr;
  Work* next = nullptr;
  Action action;
  std::shared_ptr<FailureDomain> domain;
};

}  // namespace cupool::simgpu
