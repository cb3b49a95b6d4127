// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/compile/background.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace cupool::simgpu::ptx {
namespace {

/// Never destroyed: the thread may be in the midst of a job when the process ends.
class Background {
 public:
  void add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (!started_) {
      started_ = true;
      sigset_t all;
      sigset_t before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      std::thread([this] { serve(); }).detach();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    wake_.notify_one();
  }

 private:
  [[noreturn]] void serve() {
    while (true) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !jobs_.empty(); });
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool started_ = false;
};

}  // namespace

void run_in_background(std::function<void()> job) {
  static Background* const background = new Background;
  background->add(std::move(job));
}

}  // namespace cupool::simgpu::ptx
