// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "tools/simgpu/exec/scheduler.h"
#include "tools/simgpu/exec/work.h"

namespace cupool::simgpu {
namespace {

// A worker out of work looks this often before it sleeps (some 10 us): the next launch of a loop usually comes sooner, and waking a
// sleeper costs the launching thread a system call.
constexpr int kSpins = 400;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool Scheduler::start_thread(void* (*body)(void*)) {
  // Signals are the host program's business: block them all in what we start. Detached: nothing waits for it at exit.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 20);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, this) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) ++threads_alive_;
  return started;
}

bool Scheduler::start_worker() {
  const bool started = start_thread([](void* self) -> void* {
    static_cast<Scheduler*>(self)->device_loop();
    return nullptr;
  });
  if (started) worker_count_.fetch_add(1, std::memory_order_relaxed);
  return started;
}

void Scheduler::device_loop() {
  pthread_setname_np(pthread_self(), "simgpu-worker");
  AdaptiveLock lock(mutex_);
  while (!stopping_) {
    wake_due();
    Work* work = next();
    // Whatever else the last piece has made ready is for others, host functions included.
    call_for_workers();
    if (work != nullptr) {
      execute(work);
      continue;
    }
    if (look_again() || stopping_) continue;
    ++sleeping_;
    if (parked_.empty()) {
      idle_workers_.wait(mutex_);
    } else {
      idle_workers_.wait_until(mutex_, parked_.front().due_ns);
    }
    --sleeping_;
  }
  if (--threads_alive_ == 0) idle_host_thread_.notify_all();
}

// True if work turned up within a few microseconds.
bool Scheduler::look_again() {
  spinning_.fetch_add(1, std::memory_order_relaxed);
  mutex_.unlock();
  bool found = false;
  for (int i = 0; i < kSpins && !found; ++i) {
    relax();
    found = ready_count_.load(std::memory_order_relaxed) > 0;
  }
  mutex_.lock();
  spinning_.fetch_sub(1, std::memory_order_relaxed);
  // Asked again under the lock: a submitter that counted on this spinner has woken nobody.
  return found || ready_count_.load(std::memory_order_relaxed) > 0;
}

void Scheduler::host_function_loop() {
  pthread_setname_np(pthread_self(), "simgpu-hostfunc");
  AdaptiveLock lock(mutex_);
  while (!stopping_) {
    Work* work = host_ready_.first;
    if (work == nullptr) {
      idle_host_thread_.wait(mutex_);
      continue;
    }
    take(host_ready_, work);
    execute(work);
    call_for_workers();
  }
  if (--threads_alive_ == 0) idle_host_thread_.notify_all();
}

Scheduler::~Scheduler() {
  {
    AdaptiveLock lock(mutex_);
    stopping_ = true;
    idle_workers_.notify_all();
    idle_host_thread_.notify_all();
    while (threads_alive_ > 0) idle_host_thread_.wait(mutex_);
  }
  while (free_ != nullptr) {
    Work* work = free_;
    free_ = work->next;
    delete work;
  }
}

}  // namespace cupool::simgpu
