// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tools/simgpu/exec/scheduler.h"

namespace cupool::simgpu {

/// How a stream stands to the legacy default stream of its group.
enum class StreamKind {
  legacy,        ///< the group's one: waits for all blocking streams, and they for it
  blocking,      ///< ordinary and per-thread default streams
  non_blocking,  ///< knows nothing of the legacy stream
};

/// A place for one fence that is replaced as a whole: what an event is to the order of work. Thread-safe.
class FenceSlot {
 public:
  Fence get() const {
    const std::lock_guard lock(mutex_);
    return fence_;
  }
  void set(Fence fence) {
    const std::lock_guard lock(mutex_);
    std::swap(fence_, fence);
  }

 private:
  mutable std::mutex mutex_;
  Fence fence_;
};

/// One queue: work submitted to it runs in that order. Made by a StreamGroup, which does everything with it.
class StreamQueue {
 public:
  StreamQueue(StreamKind kind, int priority) : kind_(kind), priority_(priority) {}
  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }

 private:
  friend class StreamGroup;
  const StreamKind kind_;
  const int priority_;
  Fence tail_;  // the last work submitted; guarded by the group's mutex
  std::list<StreamQueue*>::iterator place_;
};

/// The streams of one context, with the order that CUDA promises between them.
///
/// Within a stream: submission order. A piece of work in the legacy stream waits for all earlier work of every blocking stream;
/// work in a blocking stream waits for all earlier work of the legacy stream. Events add edges between any two streams.
/// Thread-safe. Outlives its queues' last use; the scheduler outlives it.
class StreamGroup {
 public:
  StreamGroup(Scheduler& scheduler, std::shared_ptr<FailureDomain> domain);
  ~StreamGroup();
  StreamGroup(const StreamGroup&) = delete;
  StreamGroup& operator=(const StreamGroup&) = delete;

  StreamQueue& legacy() { return legacy_; }
  std::unique_ptr<StreamQueue> make(StreamKind kind, int priority);
  /// The queue takes no more work. What it holds runs to its end, and the legacy stream still waits for it.
  void retire(std::unique_ptr<StreamQueue> queue);

  /// Appends work; `also` are fences that it waits for too. Priority and domain of the order are the stream's.
  Fence submit(StreamQueue& queue, Order order, std::span<const Fence> also = {});
  /// Appends work and waits for it, doing it on this thread where possible. Returns the work's code or the domain's.
  int run(StreamQueue& queue, Order order, Fence* fence = nullptr);

  /// A fence that is done when all work so far in the stream is (what an event records).
  Fence mark(StreamQueue& queue, std::uint64_t submitted_ns);
  /// All later work in the stream waits for `fence`.
  void hold(StreamQueue& queue, const Fence& fence);

  /// All work so far in the stream is done; of the legacy stream: in all blocking ones too.
  bool is_idle(StreamQueue& queue);
  /// Waits until is_idle() held once. Returns the end of that work in the scheduler's time.
  std::uint64_t wait(StreamQueue& queue);
  /// Waits for all streams, non-blocking ones included.
  std::uint64_t wait_all();
  /// The same until a time of the steady clock at most; false when something is still running then.
  bool wait_all_until(std::uint64_t deadline_ns);

  /// One piece of a group of pieces: `after` are places in the group, each smaller than the piece's own.
  struct Piece {
    Order order;
    std::vector<std::size_t> after;
    std::shared_ptr<FenceSlot> waits_for;  ///< may be null: an event that it waits for, as it stands when the piece is handed in
    std::shared_ptr<FenceSlot> records;    ///< may be null: an event that stands for this piece from then on
  };
  /// Appends a whole graph of pieces as one piece of this stream: they begin after what is in it, later work waits for all of them.
  /// Priorities and domains of the orders are left as they are.
  Fence submit_graph(StreamQueue& queue, std::vector<Piece> pieces, std::uint64_t submitted_ns, std::span<const Fence> also = {});

  FailureDomain& domain() { return *domain_; }
  const std::shared_ptr<FailureDomain>& shared_domain() const { return domain_; }
  Scheduler& scheduler() { return scheduler_; }

 private:
  using Fences = std::vector<Fence>;
  void gather(const StreamQueue& queue, Fences& into);
  Fences gather_all();
  void drop_finished();
  std::uint64_t wait_for(const Fences& fences);

  Scheduler& scheduler_;
  const std::shared_ptr<FailureDomain> domain_;
  std::mutex mutex_;  // held while tails are read, the work handed in and the new tail set: that is what makes the order one order
  StreamQueue legacy_;
  std::list<StreamQueue*> queues_;
  Fences retired_blocking_;
  Fences retired_other_;
  Fences scratch_;
};

}  // namespace cupool::simgpu
