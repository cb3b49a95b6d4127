// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "pool/lock_rank.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// The streams that the program has created, by context: where work can be that a free has to wait for. Fed by the hooks of stream
/// creation and destruction. Thread-safe.
class StreamRegistry {
 public:
  void created(CUcontext context, CUstream stream);
  void destroyed(CUstream stream);
  /// The context is gone, and its streams with it.
  void dropped(CUcontext context);
  /// A context in which memory was allocated; its default streams count as streams.
  void note_context(CUcontext context);

  std::vector<CUcontext> contexts() const;
  std::vector<CUstream> streams_of(CUcontext context) const;
  bool is_live(CUstream stream) const;
  /// Null for a stream that is not known.
  CUcontext context_of(CUstream stream) const;

 private:
  mutable pool::RankedMutex mutex_{pool::LockRank::shim};
  std::map<CUcontext, std::set<CUstream>> streams_ CUPOOL_GUARDED_BY(mutex_);
  std::map<CUstream, CUcontext> owners_ CUPOOL_GUARDED_BY(mutex_);
};

}  // namespace cupool::shim
