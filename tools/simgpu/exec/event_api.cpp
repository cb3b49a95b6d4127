// SPDX-License-Identifier: Apache-2.0
//
// Entry points: events.
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/issue.h"

using namespace cupool::simgpu;

namespace {

constexpr unsigned kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult create_event(Context& context, CUevent* out, unsigned flags) {
  if (out == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  // An event that other processes may open cannot measure.
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = handles<Event>().add<CUevent>(std::make_shared<Event>(context, flags));
  return CUDA_SUCCESS;
}

CUresult destroy_event(EntryId id, CUevent handle) {
  return enter(
      id, Needs::context_if_any,
      [&](Call&) -> CUresult { return handles<Event>().remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; },
      handle);
}

/// The frame of a call on an event.
template <class Body>
CUresult enter_event(EntryId id, CUevent handle, Body&& body) {
  return enter(
      id, Needs::context,
      [&](Call&) -> CUresult {
        const std::shared_ptr<Event> event = handles<Event>().find(handle);
        return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*event);
      },
      handle);
}

CUresult record_event(EntryId id, StreamMode mode, CUevent handle, CUstream stream_handle, unsigned flags) {
  return enter_stream(
      id, Needs::context, mode, stream_handle,
      [&](Call& call, Stream& stream) -> CUresult {
        std::shared_ptr<Event> event = handles<Event>().find(handle);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
        if (&event->context() != &stream.context()) return CUDA_ERROR_INVALID_HANDLE;
        if (flags == CU_EVENT_RECORD_EXTERNAL) return record_external(stream, std::move(event));
        return issue(stream, make_operation(*call.context, EventRecordOperation{std::move(event)}));
      },
      handle, flags);
}

template <EntryId id, StreamMode mode>
CUresult record(CUevent event, CUstream stream) {
  return record_event(id, mode, event, stream, CU_EVENT_RECORD_DEFAULT);
}

template <EntryId id, StreamMode mode>
CUresult record_with_flags(CUevent event, CUstream stream, unsigned flags) {
  return record_event(id, mode, event, stream, flags);
}

template <EntryId id, StreamMode mode>
CUresult wait_event(CUstream stream_handle, CUevent handle, unsigned flags) {
  return enter_stream(
      id, Needs::context, mode, stream_handle,
      [&](Call& call, Stream& stream) -> CUresult {
        std::shared_ptr<Event> event = handles<Event>().find(handle);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
        if (flags == CU_EVENT_WAIT_EXTERNAL) return wait_external(stream, std::move(event));
        return issue(stream, make_operation(*call.context, EventWaitOperation{std::move(event)}));
      },
      handle, flags);
}

CUresult elapsed(EntryId id, float* milliseconds, CUevent from, CUevent to) {
  return enter(
      id, Needs::context,
      [&](Call&) -> CUresult {
        const std::shared_ptr<Event> start = handles<Event>().find(from);
        const std::shared_ptr<Event> end = handles<Event>().find(to);
        if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (start == nullptr || end == nullptr || !start->is_timed() || !end->is_timed()) return CUDA_ERROR_INVALID_HANDLE;
        if (!start->is_recorded() || !end->is_recorded()) return CUDA_ERROR_INVALID_HANDLE;
        const Fence first = start->slot()->get();
        const Fence last = end->slot()->get();
        if (!first.is_done() || !last.is_done()) return CUDA_ERROR_NOT_READY;
        const double nanoseconds = static_cast<double>(last.end_ns()) - static_cast<double>(first.end_ns());
        *milliseconds = static_cast<float>(nanoseconds / 1e6);
        return CUDA_SUCCESS;
      },
      milliseconds, from, to);
}

}  // namespace

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return enter(
      EntryId::cuEventCreate, Needs::context, [&](Call& call) { return create_event(*call.context, event, flags); }, event, flags);
}

CUresult cuEventDestroy(CUevent event) {
  return destroy_event(EntryId::cuEventDestroy, event);
}
CUresult cuEventDestroy_v2(CUevent event) {
  return destroy_event(EntryId::cuEventDestroy_v2, event);
}

CUresult cuEventQuery(CUevent handle) {
  return enter_event(EntryId::cuEventQuery, handle, [](Event& event) -> CUresult {
    if (const CUresult code = capture_allows_wait(event); code != CUDA_SUCCESS) return code;
    if (!event.slot()->get().is_done()) return CUDA_ERROR_NOT_READY;
    return event.context().sticky();
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return enter_event(EntryId::cuEventSynchronize, handle, [](Event& event) -> CUresult {
    if (const CUresult code = capture_allows_wait(event); code != CUDA_SUCCESS) return code;
    const Fence fence = event.slot()->get();
    scheduler().wait(fence);
    host_waited_until(fence.end_ns());
    return event.context().sticky();
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(EntryId::cuEventElapsedTime, milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(EntryId::cuEventElapsedTime_v2, milliseconds, start, end);
}

SIMGPU_FORMS(cuEventRecord, cuEventRecord_ptsz, record, (CUevent event, CUstream stream), (event, stream))
SIMGPU_FORMS(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, record_with_flags,
             (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags))
SIMGPU_FORMS(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, wait_event, (CUstream stream, CUevent event, unsigned int flags),
             (stream, event, flags))
