// SPDX-License-Identifier: Apache-2.0
//
// Entry points: settings of a context that the simulator only remembers, and peer access.
#include "tools/simgpu/context_end.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/memory.h"

using namespace cupool::simgpu;

namespace {

// A context of another device whose memory the current one could reach.
CUresult reachable_peer(const Context& current, CUcontext handle, unsigned flags, std::shared_ptr<Context>& peer) {
  peer = Context::from_handle(handle);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  int can = 0;
  cuDeviceCanAccessPeer(&can, current.device().ordinal, peer->device().ordinal);
  return can != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

}  // namespace

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return enter(
      EntryId::cuCtxGetCacheConfig, Needs::context,
      [&](Call& call) -> CUresult {
        if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        *config = call.context->cache_config;
        return CUDA_SUCCESS;
      },
      config);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return enter(
      EntryId::cuCtxSetCacheConfig, Needs::context,
      [&](Call& call) -> CUresult {
        if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        call.context->cache_config = config;
        return CUDA_SUCCESS;
      },
      config);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return enter(
      EntryId::cuCtxGetSharedMemConfig, Needs::context,
      [&](Call& call) -> CUresult {
        if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(call.context->settings_mutex);
        *config = call.context->shared_config;
        return CUDA_SUCCESS;
      },
      config);
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return enter(
      EntryId::cuCtxSetSharedMemConfig, Needs::context,
      [&](Call&) -> CUresult {
        if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;  // banks have been fixed at four bytes since compute capability 5.0: accepted without effect
      },
      config);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return enter(
      EntryId::cuCtxGetStreamPriorityRange, Needs::context,
      [&](Call&) -> CUresult {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = -5;  // compute capability 8 and 9 have six priorities
        return CUDA_SUCCESS;
      },
      least, greatest);
}

CUresult cuCtxResetPersistingL2Cache(void) {
  return enter(EntryId::cuCtxResetPersistingL2Cache, Needs::context, [&](Call&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  return enter(
      EntryId::cuCtxGetExecAffinity, Needs::context,
      [&](Call&) -> CUresult {
        if (affinity == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
      },
      affinity, type);
}

CUresult cuCtxDetach(CUcontext handle) {
  return enter(
      EntryId::cuCtxDetach, Needs::context,
      [&](Call& call) -> CUresult {
        if (handle != call.context->handle()) return CUDA_ERROR_INVALID_CONTEXT;
        return detach_current(*call.context);
      },
      handle);
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  return enter(
      EntryId::cuCtxEnablePeerAccess, Needs::context,
      [&](Call& call) -> CUresult {
        std::shared_ptr<Context> peer;
        if (const CUresult code = reachable_peer(*call.context, handle, flags, peer); code != CUDA_SUCCESS) return code;
        {
          const std::lock_guard lock(call.context->settings_mutex);
          if (!call.context->peers.insert(peer.get()).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        }
        memory().set_peer(*peer, call.context->device(), Access::read_write);
        return CUDA_SUCCESS;
      },
      handle, flags);
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return enter(
      EntryId::cuCtxDisablePeerAccess, Needs::context,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Context> peer = Context::from_handle(handle);
        if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        {
          const std::lock_guard lock(call.context->settings_mutex);
          if (call.context->peers.erase(peer.get()) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        }
        memory().set_peer(*peer, call.context->device(), Access::none);
        return CUDA_SUCCESS;
      },
      handle);
}
