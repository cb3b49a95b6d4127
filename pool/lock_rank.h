// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "policy/base/thread_annotations.h"

namespace cupool::pool {

/// Every lock of the pool, in the order in which one thread may take them: only upwards, never two of the same rank.
/// None is held over a backing call, a call of the unit source, a completion query or a wait.
enum class LockRank : int {
  pool = 10,    ///< Pool: the list of devices
  arena = 20,   ///< Arena: heap, positions, records, deferred frees of one device
  beside = 30,  ///< Charges and blocks beside the pool of one device
  units = 40,   ///< a unit source's account
  trace = 50,   ///< TraceRecorder: the event buffer
  shim = 60,    ///< the shim's own tables; held over nothing
};

/// What is told of a thread that takes locks out of order. The default prints both ranks and aborts: debug builds and tests only.
using RankFault = void (*)(LockRank held, LockRank wanted);
RankFault set_rank_fault_handler(RankFault handler);

namespace detail {
void rank_enter(LockRank rank);
void rank_leave(LockRank rank);
bool rank_is_held(LockRank rank);
}  // namespace detail

inline constexpr bool kRanksChecked =
#ifdef NDEBUG
    false;
#else
    true;
#endif

/// A mutex with a rank. With `Checked`, each thread's held ranks are remembered and a wrong order is reported before it can block;
/// without, it costs what std::mutex costs. After jemalloc's witness.
template <bool Checked>
class CUPOOL_CAPABILITY("mutex") BasicRankedMutex {
 public:
  explicit constexpr BasicRankedMutex(LockRank rank) : rank_(rank) {}
  BasicRankedMutex(const BasicRankedMutex&) = delete;
  BasicRankedMutex& operator=(const BasicRankedMutex&) = delete;

  void lock() CUPOOL_ACQUIRE() {
    if constexpr (Checked) detail::rank_enter(rank_);
    mutex_.lock();
  }
  void unlock() CUPOOL_RELEASE() {
    mutex_.unlock();
    if constexpr (Checked) detail::rank_leave(rank_);
  }
  LockRank rank() const { return rank_; }

 private:
  std::mutex mutex_;
  LockRank rank_;
};

using RankedMutex = BasicRankedMutex<kRanksChecked>;

/// Holds a mutex for a scope; unlock() and lock() open it for a backing call in the middle.
template <class Mutex>
class CUPOOL_SCOPED_CAPABILITY BasicRankedLock {
 public:
  explicit BasicRankedLock(Mutex& mutex) CUPOOL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~BasicRankedLock() CUPOOL_RELEASE() {
    if (held_) mutex_.unlock();
  }
  BasicRankedLock(const BasicRankedLock&) = delete;
  BasicRankedLock& operator=(const BasicRankedLock&) = delete;

  void unlock() CUPOOL_RELEASE() {
    mutex_.unlock();
    held_ = false;
  }
  void lock() CUPOOL_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

using RankedLock = BasicRankedLock<RankedMutex>;

/// True when this thread may call out of the pool: it holds no ranked lock. Always true where ranks are not checked.
inline bool holds_no_lock() {
  if constexpr (!kRanksChecked) return true;
  return !detail::rank_is_held(LockRank::pool) && !detail::rank_is_held(LockRank::arena) &&
         !detail::rank_is_held(LockRank::beside) && !detail::rank_is_held(LockRank::units);
}

}  // namespace cupool::pool
