// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/stream.h"
#include "tools/simgpu/execution.h"

/// The object behind a CUstream.
struct CUstream_st {};

namespace cupool::simgpu {

class Capture;
struct GraphNode;

/// One stream of a context: a queue of the context's StreamGroup and what the program set or asks about it.
class Stream : public CUstream_st {
 public:
  Stream(Context& context, StreamQueue& queue, unsigned flags);
  ~Stream();

  Context& context() const { return context_; }
  StreamQueue& queue() const { return queue_; }
  unsigned flags() const { return flags_; }
  int priority() const { return queue_.priority(); }
  /// Unique in the process.
  std::uint64_t number() const { return number_; }
  bool is_legacy() const { return queue_.kind() == StreamKind::legacy; }

  /// Attributes by number; guarded by `mutex`.
  std::mutex mutex;
  std::map<CUstreamAttrID, CUstreamAttrValue> attributes;

  /// The capture that this stream takes part in, and what its next node will depend on. Guarded by capture_mutex() (capture.h).
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_front;

 private:
  Context& context_;
  StreamQueue& queue_;
  const unsigned flags_;
  const std::uint64_t number_;
};

/// All streams of one context: Context::execution.
class ContextStreams : public ContextExecution {
 public:
  explicit ContextStreams(Context& context);
  ~ContextStreams() override;

  StreamGroup& group() { return group_; }
  const std::shared_ptr<Stream>& legacy() const { return legacy_; }
  /// The calling thread's default stream, made at its first use.
  std::shared_ptr<Stream> per_thread();

  std::shared_ptr<Stream> create(unsigned flags, int priority);
  /// CUDA_ERROR_INVALID_HANDLE for what is not (or no longer) a stream of this context.
  CUresult destroy(CUstream handle);

  /// Set when the context ends: running kernels stop.
  const std::atomic<bool>& stop_flag() const { return stop_; }
  /// Lets the work run to its end for a while, then stops kernels and drops the rest. Nothing runs when it returns.
  void shut_down();

 private:
  Context& context_;
  StreamGroup group_;
  std::atomic<bool> stop_{false};
  std::shared_ptr<Stream> legacy_;
  std::mutex mutex_;  // guards the two members below
  std::unordered_map<CUstream, std::unique_ptr<StreamQueue>> queues_;
  std::unordered_map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
};

/// The streams of a live context.
ContextStreams& streams_of(Context& context);

/// The stream that a handle means in a call of `mode`, NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD included.
/// CUDA_ERROR_INVALID_HANDLE for a stale or foreign one.
CUresult find_stream(Context& context, CUstream handle, StreamMode mode, std::shared_ptr<Stream>& stream);

/// The range of priorities, the lowest first.
inline constexpr int kLowestPriority = 0;

}  // namespace cupool::simgpu
