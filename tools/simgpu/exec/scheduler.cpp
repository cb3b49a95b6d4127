// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/scheduler.h"

#include <algorithm>

#include "tools/simgpu/exec/float_environment.h"
#include "tools/simgpu/exec/work.h"

namespace cupool::simgpu {
namespace {

// How often a condition that nobody signals (a value in memory) is looked at: soon at first, then twice as late each time, so that
// a stream that is held up for minutes costs next to nothing.
constexpr std::uint64_t kFirstPollNs = 20'000;
constexpr unsigned kMostDoublings = 6;  // 1.28 ms

std::uint64_t poll_delay_ns(unsigned polls) {
  return kFirstPollNs << std::min(polls, kMostDoublings);
}

// How far wait() looks back for work to do itself. A longer queue is in the workers' hands already.
constexpr int kHelpDepth = 16;

bool later(std::uint64_t a, std::uint64_t b) {
  return a > b;
}

}  // namespace

Fence::Fence(const Fence& other) : work_(other.work_) {
  if (work_ != nullptr) work_->refs.fetch_add(1, std::memory_order_relaxed);
}

Fence::~Fence() {
  // Acquire-release: whoever drops the last reference recycles the piece and must see all that the others did with it.
  if (work_ != nullptr && work_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) work_->owner.drop(work_);
}

bool Fence::is_done() const {
  return work_ == nullptr || work_->done.load(std::memory_order_acquire);
}

std::uint64_t Fence::end_ns() const {
  return work_ != nullptr && is_done() ? work_->end_ns : 0;
}

int Fence::code() const {
  return work_ != nullptr && is_done() ? work_->code : 0;
}

Fence Scheduler::submit(Order order, std::span<const Fence> after) {
  Fence fence;
  {
    AdaptiveLock lock(mutex_);
    fence = Fence(make(order, after));
    call_for_workers();
  }
  return fence;
}

Fence Scheduler::submit_for_caller(Order order, std::span<const Fence> after) {
  AdaptiveLock lock(mutex_);
  return Fence(make(order, after));
}

void Scheduler::wait(const Fence& fence) {
  if (fence.is_done()) return;
  AdaptiveLock lock(mutex_);
  wait_locked(fence.work_);
}

bool Scheduler::wait_until(const Fence& fence, std::uint64_t deadline_ns) {
  if (fence.is_done()) return true;
  AdaptiveLock lock(mutex_);
  while (fence.work_->state != Work::State::done && steady_now_ns() < deadline_ns) {
    call_for_workers();
    fence.work_->has_host_waiter = true;
    done_.wait_until(mutex_, deadline_ns);
  }
  return fence.work_->state == Work::State::done;
}

Work* Scheduler::make(Order& order, std::span<const Fence> after) {
  Work* work = free_;
  if (work != nullptr) {
    free_ = work->next;
    work->next = nullptr;
  } else {
    work = new Work(*this);
  }
  // Two references: the scheduler's, given up when the piece is done, and the caller's fence.
  work->refs.store(2, std::memory_order_relaxed);
  work->done.store(false, std::memory_order_relaxed);
  work->state = Work::State::waiting;
  work->on_host_thread = order.on_host_thread;
  work->after_failure = order.after_failure;
  work->polls = 0;
  work->has_host_waiter = false;
  work->bucket = std::clamp(order.priority, kGreatestPriority, 0) - kGreatestPriority;
  work->code = 0;
  work->cost_ns = order.cost_ns;
  work->start_ns = order.submitted_ns;
  work->action = std::move(order.action);
  work->domain = std::move(order.domain);
  for (const Fence& fence : after) {
    Work* dependency = fence.work_;
    if (dependency == nullptr) continue;
    if (dependency->done.load(std::memory_order_relaxed)) {  // done under this lock
      work->start_ns = std::max(work->start_ns, dependency->end_ns);
      continue;
    }
    dependency->waiters.push_back(work);
    work->depends_on.push_back(dependency);
  }
  if (work->depends_on.empty()) {
    finished_scratch_.clear();
    ready(work, finished_scratch_);
    if (!finished_scratch_.empty()) finish(work);
  }
  return work;
}

// All it depended on is done: to the queue, or, if it is a marker, at once to `finished`.
void Scheduler::ready(Work* work, std::vector<Work*>& finished) {
  if (!work->action && !work->on_host_thread) {
    if (pacing_ == Pacing::real && work->cost_ns > 0) {
      work->end_ns = steady_now_ns() + work->cost_ns;
      park(work, work->end_ns);
      return;
    }
    work->end_ns = pacing_ == Pacing::real ? steady_now_ns() : work->start_ns + work->cost_ns;
    finished.push_back(work);
    return;
  }
  work->state = Work::State::queued;
  Links& links = work->on_host_thread ? host_ready_ : device_ready_[static_cast<std::size_t>(work->bucket)];
  work->previous = links.last;
  work->next = nullptr;
  (links.last != nullptr ? links.last->next : links.first) = work;
  links.last = work;
  if (!work->on_host_thread) ready_count_.fetch_add(1, std::memory_order_relaxed);
}

// Marks it done and readies what waited for it, without recursion: a thousand markers in a row may become ready at once.
void Scheduler::finish(Work* work) {
  std::vector<Work*>& finished = finished_scratch_;
  finished.clear();
  finished.push_back(work);
  bool wake_hosts = false;
  while (!finished.empty()) {
    Work* done = finished.back();
    finished.pop_back();
    done->state = Work::State::done;
    done->domain.reset();
    done->done.store(true, std::memory_order_release);
    wake_hosts = wake_hosts || done->has_host_waiter;
    for (Work* waiter : done->waiters) {
      waiter->start_ns = std::max(waiter->start_ns, done->end_ns);
      std::vector<Work*>& pending = waiter->depends_on;
      *std::find(pending.begin(), pending.end(), done) = pending.back();
      pending.pop_back();
      if (pending.empty()) ready(waiter, finished);
    }
    done->waiters.clear();
    unref(done);
  }
  if (wake_hosts) done_.notify_all();
}

void Scheduler::execute(Work* work) {
  work->state = Work::State::running;
  Outcome outcome;
  const std::uint64_t began_ns = pacing_ == Pacing::real ? steady_now_ns() : 0;
  mutex_.unlock();
  const bool dropped = !work->after_failure && work->domain != nullptr && work->domain->code() != 0;
  if (!dropped && work->action) {
    const FloatEnvironment standard;
    outcome = work->action();
  }
  // What an action holds is given back before anybody can see that it is done, and never under the lock.
  if (!outcome.again) work->action.reset();
  if (outcome.code != 0 && work->domain != nullptr) work->domain->fail(outcome.code);
  mutex_.lock();
  after_run(work, outcome, began_ns);
}

void Scheduler::after_run(Work* work, Outcome outcome, std::uint64_t began_ns) {
  if (outcome.again) {
    park(work, steady_now_ns() + poll_delay_ns(work->polls++));
    return;
  }
  executed_.fetch_add(1, std::memory_order_relaxed);
  work->polls = 0;
  work->code = outcome.code;
  if (pacing_ == Pacing::real) {
    const std::uint64_t now = steady_now_ns();
    work->end_ns = std::max(now, began_ns + work->cost_ns);
    if (work->end_ns > now) {
      park(work, work->end_ns);
      return;
    }
  } else {
    work->end_ns = work->start_ns + work->cost_ns;
  }
  finish(work);
}

// Until `due_ns`, without holding a thread. A sleeping worker must learn of the nearer deadline, and one must exist.
void Scheduler::park(Work* work, std::uint64_t due_ns) {
  work->state = Work::State::parked;
  parked_.push_back({due_ns, work});
  std::push_heap(parked_.begin(), parked_.end(), [](const Parked& a, const Parked& b) { return later(a.due_ns, b.due_ns); });
  if (sleeping_ > 0) {
    idle_workers_.notify_one();
  } else if (worker_count_.load(std::memory_order_relaxed) == 0) {
    start_worker();
  }
}

void Scheduler::wake_due() {
  if (parked_.empty()) return;
  const std::uint64_t now = steady_now_ns();
  const auto order = [](const Parked& a, const Parked& b) { return later(a.due_ns, b.due_ns); };
  while (!parked_.empty() && parked_.front().due_ns <= now) {
    Work* work = parked_.front().work;
    std::pop_heap(parked_.begin(), parked_.end(), order);
    parked_.pop_back();
    if (work->polls != 0) {
      finished_scratch_.clear();
      ready(work, finished_scratch_);
    } else {
      finish(work);
    }
  }
}

Work* Scheduler::next() {
  for (Links& links : device_ready_) {
    Work* work = links.first;
    if (work == nullptr) continue;
    take(links, work);
    return work;
  }
  return nullptr;
}

void Scheduler::take(Links& links, Work* work) {
  (work->previous != nullptr ? work->previous->next : links.first) = work->next;
  (work->next != nullptr ? work->next->previous : links.last) = work->previous;
  work->previous = work->next = nullptr;
  if (!work->on_host_thread) ready_count_.fetch_sub(1, std::memory_order_relaxed);
}

// Something that `target` needs, directly or not, and that nobody has begun. Only such work: another stream's kernel may be waiting
// for what this host thread does next.
Work* Scheduler::helpable(Work* target) {
  Work* work = target;
  for (int depth = 0; depth < kHelpDepth; ++depth) {
    if (work->state == Work::State::queued) {
      if (work->on_host_thread) return nullptr;
      take(device_ready_[static_cast<std::size_t>(work->bucket)], work);
      return work;
    }
    if (work->state != Work::State::waiting || work->depends_on.empty()) return nullptr;
    work = work->depends_on.front();
  }
  return nullptr;
}

void Scheduler::wait_locked(Work* target) {
  while (target->state != Work::State::done) {
    wake_due();
    if (target->state == Work::State::done) break;
    if (Work* work = helpable(target); work != nullptr) {
      execute(work);
      continue;
    }
    // Going to sleep, or leaving: what became ready meanwhile needs somebody else.
    call_for_workers();
    target->has_host_waiter = true;
    if (parked_.empty()) {
      done_.wait(mutex_);
    } else {
      done_.wait_until(mutex_, parked_.front().due_ns);
    }
  }
  call_for_workers();
}

// Sees to it that what is ready is taken by somebody.
void Scheduler::call_for_workers() {
  if (host_ready_.first != nullptr) {
    if (!host_thread_) {
      host_thread_ = start_thread([](void* self) -> void* {
        static_cast<Scheduler*>(self)->host_function_loop();
        return nullptr;
      });
    }
    idle_host_thread_.notify_one();
  }
  const int uncovered = ready_count_.load(std::memory_order_relaxed) - spinning_.load(std::memory_order_relaxed);
  if (uncovered <= 0) return;
  if (sleeping_ > 0) {
    idle_workers_.notify_one();
    return;
  }
  // Everybody is busy: one more thread, so that kernels which wait for one another all get to run.
  if (worker_count_.load(std::memory_order_relaxed) < kMaxWorkers) {
    if (start_worker() || worker_count_.load(std::memory_order_relaxed) > 0) return;
    // No thread at all can be had: better synchronous than never.
    while (Work* work = next()) execute(work);
  }
}

void Scheduler::unref(Work* work) {
  if (work->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  work->next = free_;
  free_ = work;
}

void Scheduler::drop(Work* work) {
  AdaptiveLock lock(mutex_);
  work->next = free_;
  free_ = work;
}

}  // namespace cupool::simgpu
