// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {

/// One running block of a resumable kernel: its threads' records, its shared and local memory, who waits for what.
///
/// Threads run one after another, each up to where it must wait; the order depends on nothing but the kernel. A thread that watches
/// memory in a loop lets the others run after some thousand rounds, so it also sees what other blocks write if those run in
/// between.
class ResumableBlock {
 public:
  enum class Progress { finished, yielded };

  /// Starts the block with this number. The memory of an earlier block is used again.
  void start(Worker& worker, const abi::sg_kernel& kernel, std::uint64_t block);

  /// Runs until all threads are done, or until those that are left have all yielded. Leaves through Worker::leave on a fault and
  /// when all threads wait for each other.
  Progress run(Worker& worker);

  std::uint64_t number() const { return block_; }

 private:
  enum class State : std::uint8_t { ready, barrier, warp, yielded, done };
  static constexpr std::uint32_t kBarriers = 32;

  struct Barrier {
    std::uint32_t waiting = 0;
    std::uint32_t arrived = 0;   ///< came by bar.arrive and went on
    std::uint32_t expected = 0;  ///< 0: all threads that are not done
  };

  abi::sg_thread* thread(std::uint32_t index) { return reinterpret_cast<abi::sg_thread*>(records_.get() + index * record_bytes_); }
  void enter(Worker& worker);
  void select(Worker& worker, std::uint32_t index);
  bool step_warp(Worker& worker, std::uint32_t warp);
  void after_step(std::uint32_t index, std::uint32_t reason);
  void arrive(std::uint32_t index);
  bool resolve_warp(Worker& worker, std::uint32_t warp);
  bool resolve_active(Worker& worker, std::uint32_t warp);
  void complete(Worker& worker, std::uint32_t warp, std::uint32_t group);
  bool release_barriers();
  void release(std::uint32_t barrier);
  bool wake_yielded();
  [[noreturn]] void deadlock(Worker& worker);

  const abi::sg_kernel* kernel_ = nullptr;
  std::uint64_t block_ = 0;
  std::uint32_t threads_ = 0;
  std::uint32_t done_ = 0;
  std::size_t record_bytes_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::uint8_t[]> records_;
  std::vector<State> states_;
  std::vector<std::uint16_t> tids_;
  std::vector<std::uint8_t> shared_;
  std::vector<std::uint8_t> local_;
  Barrier barriers_[kBarriers];
};

}  // namespace cupool::simgpu::ptx
