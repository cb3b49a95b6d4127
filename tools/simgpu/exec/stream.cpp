// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/stream.h"

#include <algorithm>
#include <utility>

namespace cupool::simgpu {

StreamGroup::StreamGroup(Scheduler& scheduler, std::shared_ptr<FailureDomain> domain)
    : scheduler_(scheduler), domain_(std::move(domain)), legacy_(StreamKind::legacy, 0) {
  queues_.push_back(&legacy_);
}

StreamGroup::~StreamGroup() = default;

std::unique_ptr<StreamQueue> StreamGroup::make(StreamKind kind, int priority) {
  auto queue = std::make_unique<StreamQueue>(kind, priority);
  const std::lock_guard lock(mutex_);
  queue->place_ = queues_.insert(queues_.end(), queue.get());
  return queue;
}

void StreamGroup::retire(std::unique_ptr<StreamQueue> queue) {
  const std::lock_guard lock(mutex_);
  queues_.erase(queue->place_);
  drop_finished();
  if (queue->tail_.is_done()) return;
  (queue->kind_ == StreamKind::non_blocking ? retired_other_ : retired_blocking_).push_back(std::move(queue->tail_));
}

Fence StreamGroup::submit(StreamQueue& queue, Order order, std::span<const Fence> also) {
  order.priority = queue.priority_;
  order.domain = domain_;
  const std::lock_guard lock(mutex_);
  scratch_.assign(also.begin(), also.end());
  gather(queue, scratch_);
  queue.tail_ = scheduler_.submit(std::move(order), scratch_);
  scratch_.clear();
  return queue.tail_;
}

int StreamGroup::run(StreamQueue& queue, Order order, Fence* done) {
  const Fence fence = [&] {
    order.priority = queue.priority_;
    order.domain = domain_;
    const std::lock_guard lock(mutex_);
    gather(queue, scratch_);
    queue.tail_ = scheduler_.submit_for_caller(std::move(order), scratch_);
    scratch_.clear();
    return queue.tail_;
  }();
  scheduler_.wait(fence);
  if (done != nullptr) *done = fence;
  const int code = fence.code();
  return code != 0 ? code : domain_->code();
}

Fence StreamGroup::mark(StreamQueue& queue, std::uint64_t submitted_ns) {
  Order marker;
  marker.submitted_ns = submitted_ns;
  return submit(queue, std::move(marker));
}

void StreamGroup::hold(StreamQueue& queue, const Fence& fence) {
  submit(queue, Order{}, std::span(&fence, 1));
}

// What work in this stream waits for at this moment, its own tail first. A tail that is done still counts: in virtual time its end
// may lie in the future.
void StreamGroup::gather(const StreamQueue& queue, Fences& into) {
  into.push_back(queue.tail_);
  if (queue.kind_ == StreamKind::non_blocking) return;
  if (queue.kind_ == StreamKind::blocking) {
    into.push_back(legacy_.tail_);
    return;
  }
  for (const StreamQueue* other : queues_) {
    if (other->kind_ == StreamKind::blocking && !other->tail_.is_empty()) into.push_back(other->tail_);
  }
  into.insert(into.end(), retired_blocking_.begin(), retired_blocking_.end());
}

void StreamGroup::drop_finished() {
  const auto finished = [](const Fence& fence) { return fence.is_done(); };
  std::erase_if(retired_blocking_, finished);
  std::erase_if(retired_other_, finished);
}

bool StreamGroup::is_idle(StreamQueue& queue) {
  const std::lock_guard lock(mutex_);
  if (queue.kind_ != StreamKind::legacy) return queue.tail_.is_done();
  Fences fences;
  gather(queue, fences);
  return std::all_of(fences.begin(), fences.end(), [](const Fence& fence) { return fence.is_done(); });
}

std::uint64_t StreamGroup::wait(StreamQueue& queue) {
  Fences fences;
  {
    const std::lock_guard lock(mutex_);
    if (queue.kind_ == StreamKind::legacy) {
      gather(queue, fences);
    } else {
      fences.push_back(queue.tail_);
    }
  }
  return wait_for(fences);
}

StreamGroup::Fences StreamGroup::gather_all() {
  Fences fences;
  const std::lock_guard lock(mutex_);
  drop_finished();
  for (const StreamQueue* queue : queues_) fences.push_back(queue->tail_);
  fences.insert(fences.end(), retired_blocking_.begin(), retired_blocking_.end());
  fences.insert(fences.end(), retired_other_.begin(), retired_other_.end());
  return fences;
}

std::uint64_t StreamGroup::wait_all() {
  return wait_for(gather_all());
}

bool StreamGroup::wait_all_until(std::uint64_t deadline_ns) {
  for (const Fence& fence : gather_all()) {
    if (!scheduler_.wait_until(fence, deadline_ns)) return false;
  }
  return true;
}

Fence StreamGroup::submit_graph(StreamQueue& queue, std::vector<Piece> pieces, std::uint64_t submitted_ns,
                                std::span<const Fence> also) {
  const std::lock_guard lock(mutex_);
  Fences before(also.begin(), also.end());
  gather(queue, before);
  Order begin;
  begin.submitted_ns = submitted_ns;
  const Fence start = scheduler_.submit(std::move(begin), before);
  Fences fences;
  fences.reserve(pieces.size() + 1);
  for (Piece& piece : pieces) {
    scratch_.clear();
    for (const std::size_t place : piece.after) scratch_.push_back(fences[place]);
    if (piece.after.empty()) scratch_.push_back(start);
    if (piece.waits_for != nullptr) scratch_.push_back(piece.waits_for->get());
    fences.push_back(scheduler_.submit(std::move(piece.order), scratch_));
    if (piece.records != nullptr) piece.records->set(fences.back());
  }
  scratch_.clear();
  fences.push_back(start);
  queue.tail_ = scheduler_.submit(Order{}, fences);
  return queue.tail_;
}

std::uint64_t StreamGroup::wait_for(const Fences& fences) {
  std::uint64_t end_ns = 0;
  for (const Fence& fence : fences) {
    scheduler_.wait(fence);
    end_ns = std::max(end_ns, fence.end_ns());
  }
  return end_ns;
}

}  // namespace cupool::simgpu
