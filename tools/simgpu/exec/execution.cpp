// SPDX-License-Identifier: Apache-2.0
//
// What the memory and context side asks of this one: tools/simgpu/execution.h over streams, captures and modules.
#include "tools/simgpu/execution.h"

#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/stream_object.h"
#include "tools/simgpu/module/module_table.h"

namespace cupool::simgpu {

void execution_attach(Context& context) {
  context.execution = std::make_unique<ContextStreams>(context);
}

void execution_detach(Context& context) {
  if (context.execution == nullptr) return;
  streams_of(context).shut_down();
  handles<Event>().remove_if([&](const Event& event) { return &event.context() == &context; });
  unload_all_of(context);
  context.execution.reset();
}

CUresult wait_idle(Context& context) {
  if (context.execution == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  host_waited_until(streams_of(context).group().wait_all());
  return context.sticky();
}

CUresult stream_of(Context& context, CUstream handle, StreamMode mode, StreamRef& stream) {
  std::shared_ptr<Stream> found;
  const CUresult code = find_stream(context, handle, mode, found);
  stream = std::move(found);
  return code;
}

bool is_capturing(const StreamRef& stream) {
  if (!is_any_capture_open()) return false;
  const std::lock_guard lock(capture_mutex());
  return static_cast<Stream*>(stream.get())->capture != nullptr;
}

CUresult enqueue(const StreamRef& stream, std::function<void()> when_reached) {
  Stream& target = *static_cast<Stream*>(stream.get());
  Order order;
  order.submitted_ns = host_now_ns();
  order.action = [when_reached = std::move(when_reached)] {
    when_reached();
    return Outcome::done();
  };
  streams_of(target.context()).group().submit(target.queue(), std::move(order));
  return CUDA_SUCCESS;
}

std::uint64_t stream_number(const StreamRef& stream) {
  return static_cast<const Stream*>(stream.get())->number();
}

}  // namespace cupool::simgpu
