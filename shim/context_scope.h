// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/real_driver.h"

namespace cupool::shim {

/// Makes a context current on this thread for a scope.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context) : entered_(driver::cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (entered_) driver::cuCtxPopCurrent_v2(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  bool entered() const { return entered_; }

 private:
  bool entered_ = false;
};

}  // namespace cupool::shim
