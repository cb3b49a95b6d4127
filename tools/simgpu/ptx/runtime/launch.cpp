// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/launch.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "tools/simgpu/ptx/runtime/block.h"
#include "tools/simgpu/ptx/runtime/outcome.h"
#include "tools/simgpu/ptx/runtime/pool.h"
#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {
namespace {

/// Below this many threads waking another worker costs more than it gains.
constexpr std::uint64_t kThreadsWorthSharing = 4096;
/// Blocks of a kernel that watches memory in a loop which are in flight at once at most: a device's worth.
constexpr std::size_t kMostResident = 64;
constexpr unsigned kDefaultMxcsr = 0x1f80;

/// The host program may have chosen another rounding or flush-to-zero for its own threads.
class HostFloatState {
 public:
  HostFloatState() : before_(_mm_getcsr()) { _mm_setcsr(kDefaultMxcsr); }
  ~HostFloatState() { _mm_setcsr(before_); }
  HostFloatState(const HostFloatState&) = delete;
  HostFloatState& operator=(const HostFloatState&) = delete;

 private:
  unsigned before_;
};

/// Memory is kept from launch to launch, one worker per host thread.
Worker& this_worker() {
  static thread_local std::unique_ptr<Worker> worker;
  if (!worker) worker = std::make_unique<Worker>();
  return *worker;
}

ResumableBlock& this_block() {
  static thread_local std::unique_ptr<ResumableBlock> block;
  if (!block) block = std::make_unique<ResumableBlock>();
  return *block;
}

void run_plain_block(Worker& worker, const abi::sg_kernel& code) {
  if (worker.shared_limit > 0) std::memset(worker.shared_memory.data(), 0, worker.shared_memory.size());
  if (worker.local_limit > 0) {
    worker.local_memory.assign((worker.local_limit + 31) & ~std::uint64_t{31}, 0);
    worker.local = worker.local_memory.data();
  }
  code.block(&worker);
}

/// Runs one block, plain or resumable, to its end.
void run_block(Worker& worker, const abi::sg_kernel& code, std::uint64_t number) {
  worker.set_block(number);
  if (code.step == nullptr) return run_plain_block(worker, code);
  ResumableBlock& block = this_block();
  block.start(worker, code, number);
  while (block.run(worker) == ResumableBlock::Progress::yielded) {
  }
}

/// Where a fault in a block lands. False: the block left early, and worker.fault says why.
/// setjmp forbids locals that change between it and the jump, so what it guards is one call.
bool guarded(Worker& worker, const abi::sg_kernel& code, std::uint64_t number) {
  if (setjmp(worker.escape) != 0) return false;
  run_block(worker, code, number);
  return true;
}

bool guarded_resume(Worker& worker, ResumableBlock& block, ResumableBlock::Progress* progress) {
  if (setjmp(worker.escape) != 0) return false;
  *progress = block.run(worker);
  return true;
}

void report_fault(Worker& worker, LaunchState& state) {
  worker.fault.block = worker.block;
  // A block that only stopped because an earlier one had faulted has nothing to say.
  state.report(worker.fault, describe_detail(worker));
}

/// One worker's share: blocks in ascending order until none is left or one faults.
void run_share(LaunchState& state, const CompiledKernel& kernel) {
  const HostFloatState float_state;
  Worker& worker = this_worker();
  worker.begin(state, kernel.globals.data());
  while (true) {
    // Relaxed: the number alone is shared, and blocks do not depend on each other.
    const std::uint64_t number = state.next_block.fetch_add(1, std::memory_order_relaxed);
    if (number >= state.blocks) return;
    worker.block = number;
    const Outcome::Kind reason = worker.interruption();
    if (reason != Outcome::Kind::ok) {
      worker.fault = Fault{};
      worker.fault.kind = reason;
      report_fault(worker, state);
      return;
    }
    if (guarded(worker, kernel.code, number)) continue;
    report_fault(worker, state);
    return;
  }
}

/// A kernel whose threads watch memory in loops: when a block cannot go on by itself, the next ones are started beside it.
void run_interleaved(LaunchState& state, const CompiledKernel& kernel) {
  const HostFloatState float_state;
  Worker& worker = this_worker();
  worker.begin(state, kernel.globals.data());
  std::deque<std::unique_ptr<ResumableBlock>> resident;
  std::uint64_t next = 0;
  while (next < state.blocks || !resident.empty()) {
    bool finished_any = false;
    for (std::size_t i = 0; i < resident.size();) {
      auto progress = ResumableBlock::Progress::yielded;
      worker.set_block(resident[i]->number());
      if (!guarded_resume(worker, *resident[i], &progress)) return report_fault(worker, state);
      if (progress == ResumableBlock::Progress::finished) {
        resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i));
        finished_any = true;
      } else {
        ++i;
      }
    }
    const bool stuck = !finished_any || resident.empty();
    if (next < state.blocks && stuck && resident.size() < kMostResident) {
      resident.push_back(std::make_unique<ResumableBlock>());
      worker.set_block(next);
      resident.back()->start(worker, kernel.code, next++);
    }
    const Outcome::Kind reason = worker.interruption();
    if (reason == Outcome::Kind::ok) continue;
    worker.fault = Fault{};
    worker.fault.kind = reason;
    return report_fault(worker, state);
  }
}

Outcome refuse(const std::string& why) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::invalid_launch;
  outcome.message = why;
  return outcome;
}

std::string check_launch(const CompiledKernel& kernel, const Launch& launch) {
  const KernelInfo& info = kernel.plan.info;
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (threads == 0 || launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
    return "kernel '" + info.name + "': empty grid or block";
  if (threads > info.max_threads || launch.block.x > 1024 || launch.block.y > 1024 || launch.block.z > 64) {
    return "kernel '" + info.name + "': a block of " + std::to_string(threads) + " threads, at most " +
           std::to_string(info.max_threads) + " fit";
  }
  const std::uint32_t* required = info.required_block;
  if (required[0] != 0 && (launch.block.x != required[0] || launch.block.y != required[1] || launch.block.z != required[2])) {
    return "kernel '" + info.name + "': it requires another block size (.reqntid)";
  }
  if (launch.parameters.size() < info.parameter_bytes) {
    return "kernel '" + info.name + "': " + std::to_string(launch.parameters.size()) + " bytes of parameters, " +
           std::to_string(info.parameter_bytes) + " are needed";
  }
  if (std::uint64_t{info.shared_bytes} + launch.dynamic_shared_bytes > 228 * 1024)
    return "kernel '" + info.name + "': too much shared memory";
  return {};
}

}  // namespace

Outcome run_kernel(const CompiledKernel& kernel, const Launch& launch, Memory& memory, const LaunchControl& control) {
  if (std::string why = check_launch(kernel, launch); !why.empty()) return refuse(why);
  LaunchState state{
      .memory = memory, .control = control, .plan = kernel.plan, .launch = launch, .mutex = {}, .fault = {}, .detail = {}};
  state.blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  state.threads = launch.block.x * launch.block.y * launch.block.z;
  if (control.limit.count() > 0) state.deadline = std::chrono::steady_clock::now() + control.limit;
  if (kernel.code.yields != 0) {
    run_interleaved(state, kernel);
  } else {
    std::uint64_t others = 0;
    const bool worth_sharing = !kernel.plan.ordered && state.blocks > 1 && state.blocks * state.threads >= kThreadsWorthSharing;
    if (worth_sharing) others = std::min<std::uint64_t>(worker_count(), state.blocks) - 1;
    run_on_workers(static_cast<std::uint32_t>(others), [&] { run_share(state, kernel); });
  }
  return describe(kernel, state);
}

}  // namespace cupool::simgpu::ptx
