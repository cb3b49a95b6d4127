// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/stream.h"

/// The object behind a CUevent.
struct CUevent_st {};

namespace cupool::simgpu {

class Capture;
class Context;
struct GraphNode;

/// An event: a place in the order of work, set anew by each record. Shared: work that records or awaits it keeps it.
class Event : public CUevent_st {
 public:
  Event(Context& context, unsigned flags) : context_(context), flags_(flags) {}

  Context& context() const { return context_; }
  unsigned flags() const { return flags_; }
  bool is_timed() const { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }

  const std::shared_ptr<FenceSlot>& slot() const { return slot_; }
  /// Ever recorded outside a capture (or by a graph).
  bool is_recorded() const { return !slot_->get().is_empty(); }

  /// Set while the last record was made in a capture: what a wait for it joins. Guarded by capture_mutex() (capture.h).
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_front;

 private:
  Context& context_;
  const unsigned flags_;
  const std::shared_ptr<FenceSlot> slot_ = std::make_shared<FenceSlot>();
};

}  // namespace cupool::simgpu
