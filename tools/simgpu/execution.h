// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

class Context;

/// What the memory and context side asks of the execution side (streams, capture, modules), and nothing more.

/// Streams, events and modules of one context; owned by Context::execution.
class ContextExecution {
 public:
  virtual ~ContextExecution() = default;
};

/// Which of the two default streams a NULL handle means: plain names or the _ptsz/_ptds forms.
enum class StreamMode { legacy, per_thread };

/// A stream that was looked up; shares its life.
using StreamRef = std::shared_ptr<void>;

/// Gives a new context its streams. Called once, before anybody else knows the context.
void execution_attach(Context& context);

/// Stops and drops everything that runs in a context that is about to end. Blocks until nothing of it runs any more. No lock is
/// held.
void execution_detach(Context& context);

/// Waits until all work of the context is done: cuMemFree, cuCtxSynchronize. The sticky code if there is one.
CUresult wait_idle(Context& context);

/// May the calling thread make a potentially unsafe call now? CUDA_SUCCESS, or a 900 code, having invalidated the capture that
/// forbids it.
CUresult capture_verdict();

/// The stream of a handle, NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD included. CUDA_ERROR_INVALID_HANDLE (400) for a foreign
/// one, CUDA_ERROR_INVALID_CONTEXT where a handle of another context is not allowed.
CUresult stream_of(Context& context, CUstream handle, StreamMode mode, StreamRef& stream);

/// True while the stream is being captured.
bool is_capturing(const StreamRef& stream);

/// Runs `when_reached` on the stream's worker after all work submitted before. It must not block or call the driver's entry points.
CUresult enqueue(const StreamRef& stream, std::function<void()> when_reached);

/// A number that tells streams apart for as long as the process lives.
std::uint64_t stream_number(const StreamRef& stream);

}  // namespace cupool::simgpu
