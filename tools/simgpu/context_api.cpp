// SPDX-License-Identifier: Apache-2.0
//
// Entry points: contexts other than the primary one, the thread's stack, limits and settings.
#include <algorithm>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/pool.h"

using namespace cupool::simgpu;

namespace {

// Versions that cuCtxGetApiVersion answers for each form of cuCtxCreate: the one that the form came with.
constexpr unsigned kApiVersion2 = 3020;
constexpr unsigned kApiVersion1 = 3010;

constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;

CUresult create(CUcontext* out, unsigned flags, CUdevice ordinal, unsigned api_version) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const unsigned scheduling = flags & CU_CTX_SCHED_MASK;
  const bool one_schedule = scheduling == 0 || (scheduling & (scheduling - 1)) == 0;
  if ((flags & ~kKnownFlags) != 0 || !one_schedule) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult code = contexts().create(*device, Context::Kind::created, flags, api_version, context); code != CUDA_SUCCESS) {
    return code;
  }
  *out = context->handle();
  thread_contexts().stack.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult create_with_affinity(CUcontext* out, const CUexecAffinityParam* affinity, int count, unsigned flags, CUdevice ordinal) {
  if (count < 0 || (count > 0 && affinity == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (count > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;  // needs the multi-process service
  return create(out, flags, ordinal, kApiVersion2);
}

CUresult destroy(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = Context::from_handle(handle);
  if (context == nullptr || context->is_primary()) return CUDA_ERROR_INVALID_CONTEXT;
  // The destroying thread loses it at once; other threads keep a tombstone.
  auto& stack = thread_contexts().stack;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  contexts().destroy(context);
  return CUDA_SUCCESS;
}

CUresult push(CUcontext handle) {
  std::shared_ptr<Context> context = Context::from_handle(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  thread_contexts().stack.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* out) {
  auto& stack = thread_contexts().stack;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = stack.back()->handle();
  stack.pop_back();
  return CUDA_SUCCESS;
}

bool may_limit(const Context& context, CUlimit limit, std::size_t& value) {
  const DeviceModel& model = *context.device().model;
  switch (static_cast<int>(limit)) {
    case CU_LIMIT_STACK_SIZE:
      value = std::min<std::size_t>((value + 15) & ~std::size_t{15}, 512 << 10);
      return true;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      value = std::max<std::size_t>(value, 4096);
      return true;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return model.major < 9;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return true;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      value = value <= 32 ? 32 : value <= 64 ? 64 : 128;
      return true;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      value = std::min<std::size_t>(value, static_cast<std::size_t>(model.persisting_l2_bytes));
      return true;
    default:
      return false;
  }
}

CUresult synchronise(Context& context) {
  const CUresult code = wait_idle(context);
  if (code == CUDA_SUCCESS) release_idle_pool_memory();
  return code;
}

bool is_known_limit(CUlimit limit) {
  return static_cast<int>(limit) >= 0 && limit < CU_LIMIT_MAX;
}

}  // namespace

CUresult cuCtxCreate(CUcontext* out, unsigned int flags, CUdevice ordinal) {
  return enter(
      EntryId::cuCtxCreate, Needs::init, [&](Call&) { return create(out, flags, ordinal, kApiVersion1); }, out, flags, ordinal);
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice ordinal) {
  return enter(
      EntryId::cuCtxCreate_v2, Needs::init, [&](Call&) { return create(out, flags, ordinal, kApiVersion2); }, out, flags, ordinal);
}

CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity, int count, unsigned int flags, CUdevice ordinal) {
  return enter(
      EntryId::cuCtxCreate_v3, Needs::init, [&](Call&) { return create_with_affinity(out, affinity, count, flags, ordinal); }, out,
      affinity, count, flags, ordinal);
}

CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters, unsigned int flags, CUdevice ordinal) {
  return enter(
      EntryId::cuCtxCreate_v4, Needs::init,
      [&](Call&) -> CUresult {
        if (parameters == nullptr) return create(out, flags, ordinal, kApiVersion2);
        if (parameters->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
        return create_with_affinity(out, parameters->execAffinityParams, parameters->numExecAffinityParams, flags, ordinal);
      },
      out, parameters, flags, ordinal);
}

CUresult cuCtxDestroy(CUcontext context) {
  return enter(
      EntryId::cuCtxDestroy, Needs::init, [&](Call&) { return destroy(context); }, context);
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  return enter(
      EntryId::cuCtxDestroy_v2, Needs::init, [&](Call&) { return destroy(context); }, context);
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return enter(
      EntryId::cuCtxPushCurrent, Needs::init, [&](Call&) { return push(context); }, context);
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return enter(
      EntryId::cuCtxPushCurrent_v2, Needs::init, [&](Call&) { return push(context); }, context);
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return enter(
      EntryId::cuCtxPopCurrent, Needs::init, [&](Call&) { return pop(context); }, context);
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return enter(
      EntryId::cuCtxPopCurrent_v2, Needs::init, [&](Call&) { return pop(context); }, context);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return enter(
      EntryId::cuCtxSetCurrent, Needs::init,
      [&](Call&) -> CUresult {
        auto& stack = thread_contexts().stack;
        if (handle == nullptr) {
          if (!stack.empty()) stack.pop_back();
          return CUDA_SUCCESS;
        }
        std::shared_ptr<Context> context = Context::from_handle(handle);
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (stack.empty()) {
          stack.push_back(std::move(context));
        } else {
          stack.back() = std::move(context);
        }
        return CUDA_SUCCESS;
      },
      handle);
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  return enter(
      EntryId::cuCtxGetCurrent, Needs::init,
      [&](Call& call) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *out = call.context == nullptr ? nullptr : call.context->handle();
        return CUDA_SUCCESS;
      },
      out);
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return enter(
      EntryId::cuCtxGetDevice, Needs::context,
      [&](Call& call) -> CUresult {
        if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *device = call.context->device().ordinal;
        return CUDA_SUCCESS;
      },
      device);
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return enter(
      EntryId::cuCtxGetDevice_v2, Needs::init,
      [&](Call& call) -> CUresult {
        if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::shared_ptr<Context> named = Context::from_handle(handle);
        const Context* context = handle == nullptr ? call.context : named.get();
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        *device = context->device().ordinal;
        return CUDA_SUCCESS;
      },
      device, handle);
}

CUresult cuCtxSynchronize(void) {
  return enter(EntryId::cuCtxSynchronize, Needs::context | Needs::uncaptured,
               [&](Call& call) { return synchronise(*call.context); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return enter(
      EntryId::cuCtxSynchronize_v2, Needs::init | Needs::uncaptured,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Context> named = Context::from_handle(handle);
        Context* context = handle == nullptr ? call.context : named.get();
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        return synchronise(*context);
      },
      handle);
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  return enter(
      EntryId::cuCtxGetFlags, Needs::context,
      [&](Call& call) -> CUresult {
        if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        *flags = call.context->flags;
        return CUDA_SUCCESS;
      },
      flags);
}

CUresult cuCtxSetFlags(unsigned int flags) {
  return enter(
      EntryId::cuCtxSetFlags, Needs::context,
      [&](Call& call) -> CUresult {
        if ((flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        call.context->flags = flags;
        return CUDA_SUCCESS;
      },
      flags);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return enter(
      EntryId::cuCtxGetId, Needs::init,
      [&](Call& call) -> CUresult {
        if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::shared_ptr<Context> named = Context::from_handle(handle);
        const Context* context = handle == nullptr ? call.context : named.get();
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (context->is_destroyed()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        *id = context->id();
        return CUDA_SUCCESS;
      },
      handle, id);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return enter(
      EntryId::cuCtxSetLimit, Needs::context,
      [&](Call& call) -> CUresult {
        if (!is_known_limit(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        if (!may_limit(*call.context, limit, value)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        const std::lock_guard lock(call.context->settings_mutex);
        call.context->limits[static_cast<std::size_t>(limit)] = value;
        return CUDA_SUCCESS;
      },
      limit, value);
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return enter(
      EntryId::cuCtxGetLimit, Needs::context,
      [&](Call& call) -> CUresult {
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (!is_known_limit(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        std::size_t unused = 0;
        if (!may_limit(*call.context, limit, unused)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        const std::lock_guard lock(call.context->settings_mutex);
        *value = call.context->limits[static_cast<std::size_t>(limit)];
        return CUDA_SUCCESS;
      },
      value, limit);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  return enter(
      EntryId::cuCtxGetApiVersion, Needs::init,
      [&](Call& call) -> CUresult {
        if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::shared_ptr<Context> named = Context::from_handle(handle);
        const Context* context = handle == nullptr ? call.context : named.get();
        if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        *version = context->api_version();
        return CUDA_SUCCESS;
      },
      handle, version);
}

CUresult cuCtxAttach(CUcontext* out, unsigned int flags) {
  return enter(
      EntryId::cuCtxAttach, Needs::context,
      [&](Call& call) -> CUresult {
        if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        ++call.context->attach_count;
        *out = call.context->handle();
        return CUDA_SUCCESS;
      },
      out, flags);
}
