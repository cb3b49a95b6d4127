// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/abi/cuda_types.h"
#include "shim/real_driver.h"

namespace cupool::shim {

/// Relaxed capture mode for the calling thread while it lives, so that our own calls are neither refused because of somebody's
/// capture nor drawn into it. Restores the program's mode.
class RelaxedCapture {
 public:
  RelaxedCapture() { changed_ = driver::cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS; }
  ~RelaxedCapture() {
    if (changed_) driver::cuThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool changed_ = false;
};

/// How many stream captures are open in the process. Counted by the hooks of begin and end; nothing of ours synchronises, unmaps or
/// sets a mark while it is not zero.
class OpenCaptures {
 public:
  static void began() { count_.fetch_add(1, std::memory_order_acq_rel); }
  static void ended() {
    std::int64_t seen = count_.load(std::memory_order_relaxed);
    while (seen > 0 && !count_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) {
    }
  }
  static bool any() { return count_.load(std::memory_order_acquire) != 0; }

 private:
  static constinit inline std::atomic<std::int64_t> count_{0};
};

}  // namespace cupool::shim
