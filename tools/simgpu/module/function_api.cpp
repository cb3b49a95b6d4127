// SPDX-License-Identifier: Apache-2.0
//
// Entry points: functions, their attributes, and occupancy.
#include <algorithm>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/module/device_value.h"
#include "tools/simgpu/module/module_table.h"

using namespace cupool::simgpu;

namespace {

template <class Body>
CUresult enter_function(EntryId id, CUfunction handle, Body&& body) {
  return enter(
      id, Needs::context,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Function> function = function_of(handle, *call.context);
        return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*function);
      },
      handle);
}

bool are_occupancy_flags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0;
}

CUresult active_blocks(EntryId id, int* blocks, CUfunction handle, int block_size, std::size_t shared, unsigned flags) {
  return enter_function(id, handle, [&](Function& function) -> CUresult {
    if (blocks == nullptr || block_size <= 0 || !are_occupancy_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    *blocks = resident_blocks(function, function.context().device(), static_cast<unsigned>(block_size), shared);
    return CUDA_SUCCESS;
  });
}

// The block size, in whole warps, that keeps most threads on a multiprocessor; of equals the largest.
CUresult best_block(EntryId id, int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_for, std::size_t shared,
                    int limit, unsigned flags) {
  return enter_function(id, handle, [&](Function& function) -> CUresult {
    if (grid == nullptr || block == nullptr || !are_occupancy_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    const Device& device = function.context().device();
    const int most = static_cast<int>(function.info().max_threads);
    const int from = limit > 0 ? std::min(limit, most) : most;
    int best_threads = 0;
    for (int size = (from + 31) / 32 * 32; size >= 32; size -= 32) {
      const int threads = std::min(size, from);
      const std::size_t dynamic = shared_for != nullptr ? shared_for(threads) : shared;
      const int blocks = resident_blocks(function, device, static_cast<unsigned>(threads), dynamic);
      if (blocks * threads <= best_threads) continue;
      best_threads = blocks * threads;
      *block = threads;
      *grid = blocks * device_value(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    }
    return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return enter_function(EntryId::cuFuncGetAttribute, handle, [&](Function& function) -> CUresult {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : function.attribute(attribute, *value);
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return enter_function(EntryId::cuFuncSetAttribute, handle,
                        [&](Function& function) { return function.set_attribute(attribute, value); });
}

// Preferences between caches that are not simulated: checked and taken.
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return enter_function(EntryId::cuFuncSetCacheConfig, handle, [&](Function&) -> CUresult {
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return enter_function(EntryId::cuFuncSetSharedMemConfig, handle, [&](Function&) -> CUresult {
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return enter_function(EntryId::cuFuncGetModule, handle, [&](Function& function) -> CUresult {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = function.module().get();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return enter_function(EntryId::cuFuncGetName, handle, [&](Function& function) -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = function.info().name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  return enter_function(EntryId::cuFuncGetParamInfo, handle, [&](Function& function) -> CUresult {
    if (offset == nullptr || index >= function.info().parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = function.info().parameters[index].offset;
    if (size != nullptr) *size = function.info().parameters[index].size;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return enter_function(EntryId::cuFuncIsLoaded, handle, [&](Function&) -> CUresult {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return enter_function(EntryId::cuFuncLoad, handle, [](Function&) -> CUresult { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size, size_t shared) {
  return active_blocks(EntryId::cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function, block_size, shared, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size, size_t shared,
                                                              unsigned int flags) {
  return active_blocks(EntryId::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, block_size, shared, flags);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_for, size_t shared,
                                          int limit) {
  return best_block(EntryId::cuOccupancyMaxPotentialBlockSize, grid, block, function, shared_for, shared, limit, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_for,
                                                   size_t shared, int limit, unsigned int flags) {
  return best_block(EntryId::cuOccupancyMaxPotentialBlockSizeWithFlags, grid, block, function, shared_for, shared, limit, flags);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared, CUfunction handle, int blocks, int block_size) {
  return enter_function(EntryId::cuOccupancyAvailableDynamicSMemPerBlock, handle, [&](Function& function) -> CUresult {
    if (shared == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    const Device& device = function.context().device();
    const int whole = device_value(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 102400);
    const int reserved = device_value(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024);
    const int each = whole / blocks - reserved - static_cast<int>(function.info().shared_bytes);
    *shared = static_cast<std::size_t>(std::clamp(each, 0, static_cast<int>(function.max_dynamic_shared())));
    return CUDA_SUCCESS;
  });
}

// Clusters are not simulated beyond single blocks, which every model has.
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle, const CUlaunchConfig* config) {
  return enter_function(EntryId::cuOccupancyMaxPotentialClusterSize, handle, [&](Function&) -> CUresult {
    if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *size = 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  return enter_function(EntryId::cuOccupancyMaxActiveClusters, handle, [&](Function& function) -> CUresult {
    if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Device& device = function.context().device();
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    *clusters = resident_blocks(function, device, threads, config->sharedMemBytes) *
                device_value(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    return CUDA_SUCCESS;
  });
}
