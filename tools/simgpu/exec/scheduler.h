// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "tools/simgpu/exec/action.h"
#include "tools/simgpu/exec/adaptive_mutex.h"

namespace cupool::simgpu {

class Scheduler;
struct Work;

/// Where work comes from, as far as failing together goes (one context). Once it has failed, its remaining work is dropped: each
/// piece still completes in its turn, without running.
class FailureDomain {
 public:
  /// Zero while nothing failed; else the first failure, for ever. Any thread.
  int code() const { return code_.load(std::memory_order_acquire); }
  void fail(int code) {
    int none = 0;
    code_.compare_exchange_strong(none, code, std::memory_order_acq_rel);
  }

 private:
  std::atomic<int> code_{0};
};

/// A point in the order of work: done when one submitted piece is done. Cheap to copy; an empty fence is done since ever.
class Fence {
 public:
  Fence() = default;
  Fence(const Fence& other);
  Fence(Fence&& other) noexcept : work_(other.work_) { other.work_ = nullptr; }
  Fence& operator=(Fence other) noexcept {
    std::swap(work_, other.work_);
    return *this;
  }
  ~Fence();

  /// Lock-free. What the work wrote is visible to a thread that sees true.
  bool is_done() const;
  /// When the work ended, in nanoseconds of the scheduler's clock. Zero for an empty fence; meaningful once done.
  std::uint64_t end_ns() const;
  /// The work's own failure, or zero. Meaningful once done.
  int code() const;
  bool is_empty() const { return work_ == nullptr; }

 private:
  friend class Scheduler;
  explicit Fence(Work* adopted) : work_(adopted) {}
  Work* work_ = nullptr;
};

/// One piece of work to submit.
struct Order {
  Action action;                   ///< empty: a marker, which costs no worker
  std::uint64_t cost_ns = 0;       ///< how long the simulated device is busy with it
  std::uint64_t submitted_ns = 0;  ///< the host's virtual time: it cannot start earlier
  int priority = 0;                ///< as CUDA counts: lower numbers first, kGreatestPriority..0
  bool on_host_thread = false;  ///< a host function: runs on the thread for those, where it may block without holding up the device
  bool after_failure = false;   ///< runs although its domain has failed: callbacks that are told of it
  std::shared_ptr<FailureDomain> domain;
};

/// Runs pieces of work when everything they depend on is done: the simulated GPU's queues.
///
/// Streams, events and graphs are fences over this one dependency graph. A bounded number of threads does the work; none exists
/// before the first piece that cannot run in the caller, none is waited for at exit, all have every signal blocked. A thread that
/// waits for work which is next in line does it itself, so that a small synchronous operation costs no hand-over. Time is virtual
/// by default: a piece starts at the latest end of what it depends on, ends `cost_ns` later, and no real time passes. With
/// Pacing::real it ends no earlier than that long after it really started; no worker is held meanwhile. Floating-point control
/// state of a host thread (flush-to-zero, rounding) does not leak into the work. Thread-safe. One lives per process and is never
/// destroyed; tests may make their own, drained before they drop it.
class Scheduler {
 public:
  static constexpr int kGreatestPriority = -5;
  /// As many as the hardware queues that a process gets by default; two suffice for everything but kernels that wait for one
  /// another.
  static constexpr int kMaxWorkers = 8;
  enum class Pacing { virtual_time, real };

  explicit Scheduler(Pacing pacing = Pacing::virtual_time) : pacing_(pacing) {}
  /// Every submitted piece must be done. Ends the threads.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Hands in work that starts when all of `after` are done. Never waits, unless no thread can be created at all.
  Fence submit(Order order, std::span<const Fence> after);

  /// As submit(), for a caller that calls wait() at once: no worker is woken for what the caller will do itself.
  Fence submit_for_caller(Order order, std::span<const Fence> after);

  /// Returns when `fence` is done. Runs what stands before it on this thread if nobody has begun that.
  void wait(const Fence& fence);
  /// Waits until then at most (steady clock) and does nothing itself. False if `fence` is not done.
  bool wait_until(const Fence& fence, std::uint64_t deadline_ns);

  /// Pieces executed so far, without markers. For tests and statistics.
  std::uint64_t executed() const { return executed_.load(std::memory_order_relaxed); }
  int workers() const { return worker_count_.load(std::memory_order_relaxed); }

 private:
  friend class Fence;
  struct Links {
    Work* first = nullptr;
    Work* last = nullptr;
  };
  struct Parked {
    std::uint64_t due_ns;
    Work* work;
  };
  static constexpr int kBuckets = 1 - kGreatestPriority;

  Work* make(Order& order, std::span<const Fence> after) CUPOOL_REQUIRES(mutex_);
  void ready(Work* work, std::vector<Work*>& finished) CUPOOL_REQUIRES(mutex_);
  void finish(Work* work) CUPOOL_REQUIRES(mutex_);
  void execute(Work* work) CUPOOL_REQUIRES(mutex_);
  void after_run(Work* work, Outcome outcome, std::uint64_t began_ns) CUPOOL_REQUIRES(mutex_);
  void park(Work* work, std::uint64_t due_ns) CUPOOL_REQUIRES(mutex_);
  void wake_due() CUPOOL_REQUIRES(mutex_);
  Work* next() CUPOOL_REQUIRES(mutex_);
  void take(Links& links, Work* work) CUPOOL_REQUIRES(mutex_);
  bool look_again() CUPOOL_REQUIRES(mutex_);
  Work* helpable(Work* target) CUPOOL_REQUIRES(mutex_);
  void wait_locked(Work* target) CUPOOL_REQUIRES(mutex_);
  void call_for_workers() CUPOOL_REQUIRES(mutex_);
  bool start_thread(void* (*body)(void*)) CUPOOL_REQUIRES(mutex_);
  bool start_worker() CUPOOL_REQUIRES(mutex_);
  void device_loop();
  void host_function_loop();
  void unref(Work* work) CUPOOL_REQUIRES(mutex_);
  void drop(Work* work);

  const Pacing pacing_;
  AdaptiveMutex mutex_;
  Condition idle_workers_;
  Condition idle_host_thread_;
  Condition done_;
  std::array<Links, kBuckets> device_ready_ CUPOOL_GUARDED_BY(mutex_);
  Links host_ready_ CUPOOL_GUARDED_BY(mutex_);
  std::vector<Parked> parked_ CUPOOL_GUARDED_BY(mutex_);
  std::vector<Work*> finished_scratch_ CUPOOL_GUARDED_BY(mutex_);
  Work* free_ CUPOOL_GUARDED_BY(mutex_) = nullptr;
  int sleeping_ CUPOOL_GUARDED_BY(mutex_) = 0;
  int threads_alive_ CUPOOL_GUARDED_BY(mutex_) = 0;
  bool host_thread_ CUPOOL_GUARDED_BY(mutex_) = false;
  bool stopping_ CUPOOL_GUARDED_BY(mutex_) = false;
  // Written under the lock; a worker about to sleep reads it without, only to decide whether looking again is worth it.
  std::atomic<int> ready_count_{0};
  std::atomic<int> spinning_{0};
  std::atomic<int> worker_count_{0};
  std::atomic<std::uint64_t> executed_{0};
};

/// Nanoseconds of the machine's steady clock.
inline std::uint64_t steady_now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace cupool::simgpu
