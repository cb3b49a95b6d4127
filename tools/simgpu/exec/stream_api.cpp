// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams.
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/issue.h"

using namespace cupool::simgpu;

namespace {

constexpr unsigned kStreamFlags = CU_STREAM_NON_BLOCKING;

CUresult create_stream(Context& context, CUstream* out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~kStreamFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = streams_of(context).create(flags, priority).get();
  return CUDA_SUCCESS;
}

CUresult destroy_stream(EntryId id, CUstream handle) {
  return enter(
      id, Needs::context_if_any,
      [&](Call&) -> CUresult {
        // The default streams are nobody's to destroy.
        if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return CUDA_ERROR_INVALID_HANDLE;
        const std::shared_ptr<Stream> stream = handles<Stream>().find(handle);
        if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        forget_captured(*stream);
        return streams_of(stream->context()).destroy(handle);
      },
      handle);
}

template <EntryId id, StreamMode mode>
CUresult query_stream(CUstream handle) {
  return enter_stream(id, Needs::context, mode, handle, [](Call&, Stream& stream) { return query(stream); });
}

template <EntryId id, StreamMode mode>
CUresult synchronize_stream(CUstream handle) {
  return enter_stream(id, Needs::context, mode, handle, [](Call&, Stream& stream) { return synchronize(stream); });
}

/// Calls that report one value of a stream.
template <class Value, class Read>
CUresult report(EntryId id, StreamMode mode, CUstream handle, Value* out, Read&& read) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = static_cast<Value>(read(stream));
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult stream_priority(CUstream handle, int* out) {
  return report(id, mode, handle, out, [](Stream& stream) { return stream.priority(); });
}

template <EntryId id, StreamMode mode>
CUresult stream_flags(CUstream handle, unsigned* out) {
  return report(id, mode, handle, out, [](Stream& stream) { return stream.flags(); });
}

template <EntryId id, StreamMode mode>
CUresult stream_number_of(CUstream handle, unsigned long long* out) {
  return report(id, mode, handle, out, [](Stream& stream) { return stream.number(); });
}

template <EntryId id, StreamMode mode>
CUresult stream_device(CUstream handle, CUdevice* out) {
  return report(id, mode, handle, out, [](Stream& stream) { return stream.context().device().ordinal; });
}

template <EntryId id, StreamMode mode>
CUresult stream_context(CUstream handle, CUcontext* out) {
  return report(id, mode, handle, out, [](Stream& stream) { return stream.context().handle(); });
}

template <EntryId id, StreamMode mode>
CUresult stream_context_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;  // no stream here belongs to a green context
  return report(id, mode, handle, out, [](Stream& stream) { return stream.context().handle(); });
}

bool is_stream_attribute(CUstreamAttrID attribute) {
  return attribute == CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW || attribute == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         attribute == CU_STREAM_ATTRIBUTE_PRIORITY || attribute == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
         attribute == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

template <EntryId id, StreamMode mode>
CUresult get_attribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (value == nullptr || !is_stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(stream.mutex);
    const auto found = stream.attributes.find(attribute);
    *value = found == stream.attributes.end() ? CUstreamAttrValue{} : found->second;
    if (found != stream.attributes.end()) return CUDA_SUCCESS;
    if (attribute == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->syncPolicy = CU_SYNC_POLICY_AUTO;
    if (attribute == CU_STREAM_ATTRIBUTE_PRIORITY) value->priority = stream.priority();
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult set_attribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (value == nullptr || !is_stream_attribute(attribute)) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(stream.mutex);
    stream.attributes[attribute] = *value;
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult copy_attributes(CUstream target, CUstream source) {
  return enter_stream(id, Needs::context, mode, target, [&](Call& call, Stream& to) -> CUresult {
    std::shared_ptr<Stream> from;
    if (const CUresult found = find_stream(*call.context, source, mode, from); found != CUDA_SUCCESS) return found;
    if (from.get() == &to) return CUDA_SUCCESS;
    const std::scoped_lock lock(to.mutex, from->mutex);
    to.attributes = from->attributes;
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult launch_host_function(CUstream handle, CUhostFn function, void* data) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call& call, Stream& stream) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return issue(stream, make_operation(*call.context, HostOperation{function, data}));
  });
}

template <EntryId id, StreamMode mode>
CUresult add_callback(CUstream handle, CUstreamCallback function, void* data, unsigned flags) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call& call, Stream& stream) -> CUresult {
    if (function == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return issue(stream, make_operation(*call.context, CallbackOperation{function, handle, data}));
  });
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return enter(
      EntryId::cuStreamCreate, Needs::context,
      [&](Call& call) { return create_stream(*call.context, stream, flags, kLowestPriority); }, stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return enter(
      EntryId::cuStreamCreateWithPriority, Needs::context,
      [&](Call& call) { return create_stream(*call.context, stream, flags, priority); }, stream, flags, priority);
}

CUresult cuStreamDestroy(CUstream stream) {
  return destroy_stream(EntryId::cuStreamDestroy, stream);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  return destroy_stream(EntryId::cuStreamDestroy_v2, stream);
}

SIMGPU_FORMS(cuStreamQuery, cuStreamQuery_ptsz, query_stream, (CUstream stream), (stream))
SIMGPU_FORMS(cuStreamSynchronize, cuStreamSynchronize_ptsz, synchronize_stream, (CUstream stream), (stream))
SIMGPU_FORMS(cuStreamGetPriority, cuStreamGetPriority_ptsz, stream_priority, (CUstream stream, int* priority), (stream, priority))
SIMGPU_FORMS(cuStreamGetFlags, cuStreamGetFlags_ptsz, stream_flags, (CUstream stream, unsigned int* flags), (stream, flags))
SIMGPU_FORMS(cuStreamGetId, cuStreamGetId_ptsz, stream_number_of, (CUstream stream, unsigned long long* id), (stream, id))
SIMGPU_FORMS(cuStreamGetDevice, cuStreamGetDevice_ptsz, stream_device, (CUstream stream, CUdevice* device), (stream, device))
SIMGPU_FORMS(cuStreamGetCtx, cuStreamGetCtx_ptsz, stream_context, (CUstream stream, CUcontext* context), (stream, context))
SIMGPU_FORMS(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz, stream_context_v2, (CUstream stream, CUcontext* context, CUgreenCtx* green),
             (stream, context, green))
SIMGPU_FORMS(cuStreamGetAttribute, cuStreamGetAttribute_ptsz, get_attribute,
             (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value), (stream, attribute, value))
SIMGPU_FORMS(cuStreamSetAttribute, cuStreamSetAttribute_ptsz, set_attribute,
             (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value), (stream, attribute, value))
SIMGPU_FORMS(cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz, copy_attributes, (CUstream target, CUstream source),
             (target, source))
SIMGPU_FORMS(cuLaunchHostFunc, cuLaunchHostFunc_ptsz, launch_host_function, (CUstream stream, CUhostFn function, void* data),
             (stream, function, data))
SIMGPU_FORMS(cuStreamAddCallback, cuStreamAddCallback_ptsz, add_callback,
             (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags), (stream, callback, data, flags))
