// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tools/simgpu/ptx/runtime/warp.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::int64_t kSlice = 2048;

}  // namespace

void ResumableBlock::start(Worker& worker, const abi::sg_kernel& kernel, std::uint64_t block) {
  const LaunchState& state = *worker.state;
  kernel_ = &kernel;
  block_ = block;
  threads_ = state.threads;
  done_ = 0;
  record_bytes_ = (kernel.record_bytes + 63) & ~std::size_t{63};
  const std::size_t needed = record_bytes_ * threads_;
  if (capacity_ < needed) {
    records_.reset(new std::uint8_t[needed]);
    capacity_ = needed;
  }
  for (std::uint32_t i = 0; i < threads_; ++i) std::memset(thread(i), 0, sizeof(abi::sg_thread));
  states_.assign(threads_, State::ready);
  if (tids_.size() != std::size_t{threads_} * 3) {
    tids_.resize(std::size_t{threads_} * 3);
  }
  std::uint32_t at = 0;
  for (std::uint32_t z = 0; z < worker.ntid[2]; ++z) {
    for (std::uint32_t y = 0; y < worker.ntid[1]; ++y) {
      for (std::uint32_t x = 0; x < worker.ntid[0]; ++x) {
        tids_[at++] = static_cast<std::uint16_t>(x);
        tids_[at++] = static_cast<std::uint16_t>(y);
        tids_[at++] = static_cast<std::uint16_t>(z);
      }
    }
  }
  shared_.assign((worker.shared_limit + 31) & ~std::uint64_t{31}, 0);
  local_.assign(((worker.local_limit + 31) & ~std::uint64_t{31}) * threads_, 0);
  std::fill(std::begin(barriers_), std::end(barriers_), Barrier{});
}

void ResumableBlock::enter(Worker& worker) {
  worker.set_block(block_);
  worker.shared = shared_.data();
}

void ResumableBlock::select(Worker& worker, std::uint32_t index) {
  worker.tid[0] = tids_[index * 3];
  worker.tid[1] = tids_[index * 3 + 1];
  worker.tid[2] = tids_[index * 3 + 2];
  worker.lane = index % kWarp;
  worker.warp = index / kWarp;
  worker.local = local_.data() + std::size_t{index} * ((worker.local_limit + 31) & ~std::uint64_t{31});
}

ResumableBlock::Progress ResumableBlock::run(Worker& worker) {
  enter(worker);
  const std::uint32_t warps = (threads_ + kWarp - 1) / kWarp;
  while (true) {
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      while (step_warp(worker, warp) && resolve_warp(worker, warp)) {
      }
    }
    if (done_ == threads_) return Progress::finished;
    if (release_barriers()) continue;
    if (wake_yielded()) return Progress::yielded;
    bool resolved = false;
    for (std::uint32_t warp = 0; warp < warps; ++warp) resolved = resolve_active(worker, warp) || resolved;
    if (!resolved) deadlock(worker);
  }
}

/// Runs every ready thread of the warp once; tells whether any now waits for the warp.
bool ResumableBlock::step_warp(Worker& worker, std::uint32_t warp) {
  const std::uint32_t begin = warp * kWarp;
  const std::uint32_t end = std::min(begin + kWarp, threads_);
  bool waits = false;
  for (std::uint32_t i = begin; i < end; ++i) {
    while (states_[i] == State::ready) {
      select(worker, i);
      worker.slice = kSlice;
      after_step(i, kernel_->step(&worker, thread(i)));
    }
    waits = waits || states_[i] == State::warp;
  }
  return waits;
}

void ResumableBlock::after_step(std::uint32_t index, std::uint32_t reason) {
  switch (reason) {
    case SG_BARRIER:
      return arrive(index);
    case SG_WARP:
      states_[index] = State::warp;
      return;
    case SG_YIELD:
      states_[index] = State::yielded;
      return;
    default:
      states_[index] = State::done;
      ++done_;
  }
}

void ResumableBlock::arrive(std::uint32_t index) {
  const abi::sg_thread& record = *thread(index);
  Barrier& barrier = barriers_[record.in[0] % kBarriers];
  if (record.in[1] != 0) barrier.expected = std::min(record.in[1], threads_);
  if (record.in[2] == SG_BAR_ARRIVE) {
    ++barrier.arrived;
    return;  // goes on at once
  }
  ++barrier.waiting;
  states_[index] = State::barrier;
}

bool ResumableBlock::release_barriers() {
  bool any = false;
  for (std::uint32_t b = 0; b < kBarriers; ++b) {
    const Barrier& barrier = barriers_[b];
    if (barrier.waiting == 0) continue;
    const std::uint32_t expected = barrier.expected != 0 ? barrier.expected : threads_ - done_;
    if (barrier.waiting + barrier.arrived < expected) continue;
    release(b);
    any = true;
  }
  return any;
}

void ResumableBlock::release(std::uint32_t barrier) {
  std::uint32_t count = 0;
  std::uint32_t holds = 0;
  const auto waits_here = [&](std::uint32_t i) { return states_[i] == State::barrier && thread(i)->in[0] % kBarriers == barrier; };
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (!waits_here(i)) continue;
    ++count;
    holds += thread(i)->in[3] != 0 ? 1 : 0;
  }
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (!waits_here(i)) continue;
    abi::sg_thread& record = *thread(i);
    const std::uint32_t kind = record.in[2];
    record.out[0] = kind == SG_BAR_RED_POPC ? holds : kind == SG_BAR_RED_AND ? (holds == count ? 1 : 0) : (holds != 0 ? 1 : 0);
    states_[i] = State::ready;
  }
  barriers_[barrier] = Barrier{};
}

/// Groups of lanes that wait at the same operation with the same mask, complete but for lanes that are done.
bool ResumableBlock::resolve_warp(Worker& worker, std::uint32_t warp) {
  const std::uint32_t begin = warp * kWarp;
  const std::uint32_t lanes = std::min(kWarp, threads_ - begin);
  std::uint32_t waiting = 0;
  std::uint32_t alive = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const State state = states_[begin + lane];
    if (state != State::done) alive |= 1U << lane;
    if (state == State::warp && thread(begin + lane)->op != SG_W_ACTIVEMASK) waiting |= 1U << lane;
  }
  bool any = false;
  while (waiting != 0) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(waiting));
    const abi::sg_thread& leader = *thread(begin + first);
    // A thread that names a mask without itself is undefined; it is taken to be in it.
    const std::uint32_t members = (leader.in[0] | 1U << first) & alive;
    std::uint32_t group = 0;
    for (std::uint32_t left = waiting; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const abi::sg_thread& other = *thread(begin + lane);
      if (other.op == leader.op && other.in[0] == leader.in[0]) group |= 1U << lane;
    }
    waiting &= ~group;
    if ((members & ~group) != 0) continue;
    complete(worker, warp, group);
    any = true;
  }
  return any;
}

/// activemask: once nobody in the warp can run, the lanes that wait at the same place are together.
bool ResumableBlock::resolve_active(Worker& worker, std::uint32_t warp) {
  const std::uint32_t begin = warp * kWarp;
  const std::uint32_t lanes = std::min(kWarp, threads_ - begin);
  std::uint32_t group = 0;
  std::uint32_t pc = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (states_[begin + lane] != State::warp || thread(begin + lane)->op != SG_W_ACTIVEMASK) continue;
    if (group == 0) pc = thread(begin + lane)->pc;
    if (thread(begin + lane)->pc == pc) group |= 1U << lane;
  }
  if (group == 0) return false;
  complete(worker, warp, group);
  return true;
}

void ResumableBlock::complete(Worker& worker, std::uint32_t warp, std::uint32_t group) {
  abi::sg_thread* members[kWarp] = {};
  const std::uint32_t begin = warp * kWarp;
  for (std::uint32_t left = group; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    members[lane] = thread(begin + lane);
    states_[begin + lane] = State::ready;
  }
  select(worker, begin + static_cast<std::uint32_t>(std::countr_zero(group)));
  resolve_warp_operation(worker, members, group);
}

bool ResumableBlock::wake_yielded() {
  bool any = false;
  for (State& state : states_) {
    if (state != State::yielded) continue;
    state = State::ready;
    any = true;
  }
  return any;
}

void ResumableBlock::deadlock(Worker& worker) {
  std::uint32_t first = 0;
  while (first + 1 < threads_ && states_[first] == State::done) ++first;
  select(worker, first);
  worker.fault = Fault{};
  worker.leave(Outcome::Kind::deadlock, thread(first)->line);
}

}  // namespace cupool::simgpu::ptx
