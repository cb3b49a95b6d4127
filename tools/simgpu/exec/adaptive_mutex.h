// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "policy/base/thread_annotations.h"

namespace cupool::simgpu {

/// A mutex that spins briefly before it sleeps: it is held for some 50 ns by a launching host thread and by a worker in turn, where
/// putting either to sleep would cost fifty times that. Constant-initialised.
class CUPOOL_CAPABILITY("mutex") AdaptiveMutex {
 public:
  AdaptiveMutex() = default;
  AdaptiveMutex(const AdaptiveMutex&) = delete;
  AdaptiveMutex& operator=(const AdaptiveMutex&) = delete;

  void lock() CUPOOL_ACQUIRE() { pthread_mutex_lock(&mutex_); }
  void unlock() CUPOOL_RELEASE() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

class CUPOOL_SCOPED_CAPABILITY AdaptiveLock {
 public:
  explicit AdaptiveLock(AdaptiveMutex& mutex) CUPOOL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~AdaptiveLock() CUPOOL_RELEASE() { mutex_.unlock(); }
  AdaptiveLock(const AdaptiveLock&) = delete;
  AdaptiveLock& operator=(const AdaptiveLock&) = delete;

 private:
  AdaptiveMutex& mutex_;
};

/// A condition variable for AdaptiveMutex. Waits may return early: test the condition in a loop.
class Condition {
 public:
  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(AdaptiveMutex& mutex) CUPOOL_REQUIRES(mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  /// Until `deadline_ns` of the steady clock at most.
  void wait_until(AdaptiveMutex& mutex, std::uint64_t deadline_ns) CUPOOL_REQUIRES(mutex) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const timespec deadline{static_cast<time_t>(deadline_ns / kSecond), static_cast<long>(deadline_ns % kSecond)};
    pthread_cond_timedwait(&condition_, &mutex.mutex_, &deadline);
  }
  void notify_one() { pthread_cond_signal(&condition_); }
  void notify_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

}  // namespace cupool::simgpu
