// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint32_t kMost = 8;

struct Job {
  const std::function<void()>* work;
  std::uint32_t running = 0;
};

/// Never destroyed: its threads may still sleep in it when the process ends.
class Pool {
 public:
  void run(std::uint32_t others, const std::function<void()>& work) {
    Job job{&work};
    {
      const std::lock_guard lock(mutex_);
      grow(others);
      for (std::uint32_t i = 0; i < others; ++i) queue_.push_back(&job);
    }
    wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    // What no thread has taken up by now need not be done: the work is finished.
    queue_.erase(std::remove(queue_.begin(), queue_.end(), &job), queue_.end());
    done_.wait(lock, [&] { return job.running == 0; });
  }

 private:
  void grow(std::uint32_t wanted) {
    while (threads_ < std::min(wanted, kMost)) {
      // A new thread inherits the mask: signals are the host program's own threads' business.
      sigset_t all;
      sigset_t before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      std::thread([this] { serve(); }).detach();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      ++threads_;
    }
  }

  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return !queue_.empty(); });
      Job* job = queue_.front();
      queue_.pop_front();
      ++job->running;
      lock.unlock();
      (*job->work)();
      lock.lock();
      if (--job->running == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Job*> queue_;
  std::uint32_t threads_ = 0;
};

Pool& pool() {
  static Pool* const made = new Pool;
  return *made;
}

std::atomic<std::uint32_t> g_override{0};

std::uint32_t configured() {
  if (const char* text = std::getenv("SIMGPU_WORKERS")) {
    const long value = std::strtol(text, nullptr, 10);
    if (value >= 1 && value <= 64) return static_cast<std::uint32_t>(value);
  }
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMost);
}

}  // namespace

std::uint32_t worker_count() {
  const std::uint32_t chosen = g_override.load(std::memory_order_relaxed);
  if (chosen != 0) return chosen;
  static const std::uint32_t count = configured();
  return count;
}

void set_worker_count(std::uint32_t workers) {
  g_override.store(workers, std::memory_order_relaxed);
}

void run_on_workers(std::uint32_t others, const std::function<void()>& work) {
  if (others == 0) return work();
  pool().run(others, work);
}

}  // namespace cupool::simgpu::ptx
