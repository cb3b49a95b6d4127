// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "policy/base/thread_annotations.h"
#include "pool/lock_rank.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// A context's number here; small, and used again after the context has gone. 0: none.
using ContextNumber = std::uint16_t;

/// What is known of a context that was current when memory was asked for.
struct ContextFacts {
  CUcontext handle = nullptr;
  CUdevice device = -1;
  ContextNumber number = 0;
  CUresult fatal = CUDA_SUCCESS;  ///< the error that the context has died of, as far as our hooks have seen it
};

/// Numbers the contexts, so that a block can name the one that it belongs to. Looking one up takes no lock and makes no driver
/// call: it is on the path of every allocation. Thread-safe.
class ContextTable {
 public:
  static constexpr std::size_t kMaxContexts = 1024;

  /// The facts of a context; `number` is 0 when it is not known yet.
  ContextFacts find(CUcontext context) const;
  ContextFacts at(ContextNumber number) const;
  /// Makes a context known. Number 0 when the table is full: its memory is then served by the driver.
  ContextFacts add(CUcontext context, CUdevice device);
  void remove(CUcontext context);
  void failed(CUcontext context, CUresult code);

 private:
  struct Slot {
    std::atomic<CUcontext> handle{nullptr};
    std::atomic<CUdevice> device{-1};
    std::atomic<CUresult> fatal{CUDA_SUCCESS};
  };
  ContextFacts facts_at(std::size_t index) const;

  std::array<Slot, kMaxContexts> slots_;                   ///< slot i holds number i + 1
  std::atomic<std::size_t> end_{0};                        ///< slots below may be in use
  mutable pool::RankedMutex mutex_{pool::LockRank::shim};  ///< for writers
};

}  // namespace cupool::shim
