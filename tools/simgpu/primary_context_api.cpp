// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the primary context of a device.
#include "tools/simgpu/context_end.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"

using namespace cupool::simgpu;

namespace cupool::simgpu {
namespace {

bool is_active(const PrimaryContext& primary) {
  return primary.context != nullptr && !primary.context->is_destroyed();
}

}  // namespace

CUresult release_primary(const Device& device) {
  PrimaryContext& primary = primary_context(device);
  // Under the lock until it has ended: a retain at this moment revives it afterwards.
  const std::lock_guard lock(primary.mutex);
  if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0 && is_active(primary)) contexts().destroy(primary.context);
  return CUDA_SUCCESS;
}

CUresult detach_current(Context& context) {
  if (context.is_primary()) return release_primary(context.device());
  {
    const std::lock_guard lock(context.settings_mutex);
    if (--context.attach_count > 0) return CUDA_SUCCESS;
  }
  auto& stack = thread_contexts().stack;
  const std::shared_ptr<Context> ended = stack.back();
  stack.pop_back();
  contexts().destroy(ended);
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu

namespace {

constexpr unsigned kApiVersion = 3020;

CUresult retain(CUcontext* out, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryContext& primary = primary_context(*device);
  const std::lock_guard lock(primary.mutex);
  if (primary.context == nullptr) {
    const CUresult code = contexts().create(*device, Context::Kind::primary, primary.flags, kApiVersion, primary.context);
    if (code != CUDA_SUCCESS) return code;
  } else if (primary.context->is_destroyed()) {
    if (const CUresult code = contexts().revive(primary.context, primary.flags); code != CUDA_SUCCESS) return code;
  }
  ++primary.retained;
  *out = primary.context->handle();
  return CUDA_SUCCESS;
}

// The context ends, and so does everything in it; whoever has retained it still has to release it, and the next retain revives it.
CUresult reset(CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryContext& primary = primary_context(*device);
  const std::lock_guard lock(primary.mutex);
  if (is_active(primary)) contexts().destroy(primary.context);
  primary.flags = 0;
  return CUDA_SUCCESS;
}

CUresult set_flags(CUdevice ordinal, unsigned flags) {
  Device* device = driver().device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  PrimaryContext& primary = primary_context(*device);
  const std::lock_guard lock(primary.mutex);
  primary.flags = flags;
  if (is_active(primary)) {
    const std::lock_guard settings(primary.context->settings_mutex);
    primary.context->flags = flags;
  }
  return CUDA_SUCCESS;
}

CUresult release(CUdevice ordinal) {
  const Device* device = driver().device(ordinal);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : release_primary(*device);
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return enter(
      EntryId::cuDevicePrimaryCtxRetain, Needs::init, [&](Call&) { return retain(out, ordinal); }, out, ordinal);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return enter(
      EntryId::cuDevicePrimaryCtxRelease, Needs::init, [&](Call&) { return release(ordinal); }, ordinal);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return enter(
      EntryId::cuDevicePrimaryCtxRelease_v2, Needs::init, [&](Call&) { return release(ordinal); }, ordinal);
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return enter(
      EntryId::cuDevicePrimaryCtxReset, Needs::init, [&](Call&) { return reset(ordinal); }, ordinal);
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return enter(
      EntryId::cuDevicePrimaryCtxReset_v2, Needs::init, [&](Call&) { return reset(ordinal); }, ordinal);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned int flags) {
  return enter(
      EntryId::cuDevicePrimaryCtxSetFlags, Needs::init, [&](Call&) { return set_flags(ordinal, flags); }, ordinal, flags);
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags) {
  return enter(
      EntryId::cuDevicePrimaryCtxSetFlags_v2, Needs::init, [&](Call&) { return set_flags(ordinal, flags); }, ordinal, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags, int* active) {
  return enter(
      EntryId::cuDevicePrimaryCtxGetState, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
        PrimaryContext& primary = primary_context(*device);
        const std::lock_guard lock(primary.mutex);
        *flags = primary.flags;
        *active = is_active(primary) ? 1 : 0;
        return CUDA_SUCCESS;
      },
      ordinal, flags, active);
}
