// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/issue.h"

#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/stream_object.h"

namespace cupool::simgpu {

CUresult issue(Stream& stream, SharedOperation operation) {
  if (const CaptureGate gate = pass_capture(stream, operation); gate.is_taken) return gate.code;
  StreamGroup& group = streams_of(stream.context()).group();
  if (const auto* record = operation->as<EventRecordOperation>()) {
    record->event->slot()->set(group.mark(stream.queue(), host_now_ns()));
    return CUDA_SUCCESS;
  }
  if (const auto* wait = operation->as<EventWaitOperation>()) {
    const Fence fence = wait->event->slot()->get();
    if (!fence.is_empty()) group.hold(stream.queue(), fence);
    return CUDA_SUCCESS;
  }
  group.submit(stream.queue(), order_of(std::move(operation), stream.context()));
  return CUDA_SUCCESS;
}

CUresult record_external(Stream& stream, std::shared_ptr<Event> event) {
  const SharedOperation operation = make_operation(stream.context(), EventRecordOperation{std::move(event)});
  if (const CaptureGate gate = add_captured_node(stream, operation); gate.is_taken) return gate.code;
  return issue(stream, operation);
}

CUresult wait_external(Stream& stream, std::shared_ptr<Event> event) {
  const SharedOperation operation = make_operation(stream.context(), EventWaitOperation{std::move(event)});
  if (const CaptureGate gate = add_captured_node(stream, operation); gate.is_taken) return gate.code;
  return issue(stream, operation);
}

CUresult issue_and_wait(Stream& stream, SharedOperation operation) {
  if (const CUresult code = capture_allows_wait(stream); code != CUDA_SUCCESS) return code;
  StreamGroup& group = streams_of(stream.context()).group();
  Fence fence;
  const int code = group.run(stream.queue(), order_of(std::move(operation), stream.context()), &fence);
  host_waited_until(fence.end_ns());
  return static_cast<CUresult>(code);
}

CUresult synchronize(Stream& stream) {
  if (const CUresult code = capture_allows_wait(stream); code != CUDA_SUCCESS) return code;
  host_waited_until(streams_of(stream.context()).group().wait(stream.queue()));
  return stream.context().sticky();
}

CUresult query(Stream& stream) {
  if (const CUresult code = capture_allows_wait(stream); code != CUDA_SUCCESS) return code;
  if (!streams_of(stream.context()).group().is_idle(stream.queue())) return CUDA_ERROR_NOT_READY;
  return stream.context().sticky();
}

}  // namespace cupool::simgpu
