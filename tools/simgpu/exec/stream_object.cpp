// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/stream_object.h"

#include <algorithm>
#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/handle_table.h"

namespace cupool::simgpu {
namespace {

// What an ending context's work may still take before its kernels are stopped.
constexpr std::uint64_t kGraceNs = 2'000'000'000;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};  // relaxed: uniqueness is all
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Stream::Stream(Context& context, StreamQueue& queue, unsigned flags)
    : context_(context), queue_(queue), flags_(flags), number_(next_number()) {}

Stream::~Stream() = default;

ContextStreams::ContextStreams(Context& context)
    : context_(context),
      group_(scheduler(), std::make_shared<FailureDomain>()),
      legacy_(std::make_shared<Stream>(context, group_.legacy(), CU_STREAM_DEFAULT)) {}

ContextStreams::~ContextStreams() = default;

std::shared_ptr<Stream> ContextStreams::per_thread() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Stream>& mine = per_thread_[std::this_thread::get_id()];
  if (mine == nullptr) {
    std::unique_ptr<StreamQueue> queue = group_.make(StreamKind::blocking, kLowestPriority);
    mine = std::make_shared<Stream>(context_, *queue, CU_STREAM_DEFAULT);
    queues_.emplace(mine.get(), std::move(queue));
  }
  return mine;
}

std::shared_ptr<Stream> ContextStreams::create(unsigned flags, int priority) {
  const StreamKind kind = (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamKind::non_blocking : StreamKind::blocking;
  std::unique_ptr<StreamQueue> queue = group_.make(kind, std::clamp(priority, Scheduler::kGreatestPriority, kLowestPriority));
  auto stream = std::make_shared<Stream>(context_, *queue, flags);
  {
    const std::lock_guard lock(mutex_);
    queues_.emplace(stream.get(), std::move(queue));
  }
  handles<Stream>().add<CUstream>(stream);
  return stream;
}

CUresult ContextStreams::destroy(CUstream handle) {
  // The handle goes first: from here on nobody finds the stream to submit to it.
  const std::shared_ptr<Stream> stream = handles<Stream>().remove(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::unique_ptr<StreamQueue> queue;
  {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(handle);
    if (found == queues_.end()) return CUDA_ERROR_INVALID_HANDLE;
    queue = std::move(found->second);
    queues_.erase(found);
  }
  group_.retire(std::move(queue));
  return CUDA_SUCCESS;
}

void ContextStreams::shut_down() {
  for (const auto& stream : handles<Stream>().remove_if([this](const Stream& other) { return &other.context() == &context_; })) {
    forget_captured(*stream);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [thread, stream] : per_thread_) forget_captured(*stream);
  }
  if (!group_.wait_all_until(steady_now_ns() + kGraceNs)) {
    group_.domain().fail(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    stop_.store(true, std::memory_order_release);
    group_.wait_all();
  }
}

ContextStreams& streams_of(Context& context) {
  return static_cast<ContextStreams&>(*context.execution);
}

CUresult find_stream(Context& context, CUstream handle, StreamMode mode, std::shared_ptr<Stream>& stream) {
  if (context.execution == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (handle == nullptr) handle = mode == StreamMode::per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) {
    stream = streams_of(context).legacy();
  } else if (handle == CU_STREAM_PER_THREAD) {
    stream = streams_of(context).per_thread();
  } else {
    stream = handles<Stream>().find(handle);
  }
  return stream != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace cupool::simgpu
