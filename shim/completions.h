// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "pool/deferred_free.h"
#include "pool/lock_rank.h"
#include "shim/streams.h"

namespace cupool::shim {

/// Knows by events when the work that was submitted before a free is done.
///
/// A mark behind all work is one event for each stream that the program has created on the device's contexts, and one on the legacy
/// default stream, which comes after every blocking stream, per-thread default streams among them. Marks are set once for a batch
/// of frees, never once for each. A stream or context that is gone counts as done. Events are used again. Nothing is recorded or
/// waited for while a capture is open (Errc::busy): the event would become part of it. Thread-safe.
class EventCompletions final : public pool::Completions {
 public:
  EventCompletions(const StreamRegistry& streams, CUdevice device) : streams_(streams), device_(device) {}

  Result<pool::Token> mark(pool::FreeAfter after) override;
  bool is_done(pool::Token token) override;
  Result<Done> wait(pool::Token token) override;
  void forget(pool::Token token) override;

  /// The stream is about to be destroyed: what it still has to do counts in every mark until it is done.
  void destroying(CUcontext context, CUstream stream);
  /// The context is gone: its events are, too.
  void dropped(CUcontext context);

 private:
  struct Recorded {
    CUcontext context = nullptr;
    CUevent event = nullptr;
  };
  struct Mark {
    std::vector<Recorded> events;
    std::uint64_t orphans_before = 0;  ///< work of destroyed streams with a lower number counts, too
  };
  struct Orphan {
    std::uint64_t number;
    Recorded last;
  };

  CUresult record(CUcontext context, CUstream stream, Mark& mark);
  CUevent take_event(CUcontext context);
  Mark copy_of(pool::Token token) const;
  std::vector<Orphan> orphans_before(std::uint64_t number) const;
  void end_orphan(const Orphan& orphan);

  const StreamRegistry& streams_;
  const CUdevice device_;
  mutable pool::RankedMutex mutex_{pool::LockRank::shim};
  std::unordered_map<std::uint64_t, Mark> marks_ CUPOOL_GUARDED_BY(mutex_);
  std::unordered_map<CUcontext, std::vector<CUevent>> idle_ CUPOOL_GUARDED_BY(mutex_);
  std::vector<Orphan> orphans_ CUPOOL_GUARDED_BY(mutex_);
  std::uint64_t next_token_ CUPOOL_GUARDED_BY(mutex_) = 1;
  std::uint64_t next_orphan_ CUPOOL_GUARDED_BY(mutex_) = 1;
};

}  // namespace cupool::shim
