// SPDX-License-Identifier: Apache-2.0
//
// Entry points: what an address is.
#include "tools/simgpu/entry.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/pointer_attributes.h"
#include "tools/simgpu/virtual_memory.h"

using namespace cupool::simgpu;

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return enter(
      EntryId::cuPointerGetAttribute, Needs::context,
      [&](Call& call) -> CUresult {
        return data == nullptr ? CUDA_ERROR_INVALID_VALUE : pointer_attribute(*call.context, attribute, address, data);
      },
      data, attribute, address);
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  return enter(
      EntryId::cuPointerGetAttributes, Needs::context,
      [&](Call& call) -> CUresult {
        if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; ++i) {
          if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
          if (pointer_attribute(*call.context, attributes[i], address, data[i]) == CUDA_SUCCESS) continue;
          if (const CUresult code = default_pointer_attribute(attributes[i], data[i]); code != CUDA_SUCCESS) return code;
        }
        return CUDA_SUCCESS;
      },
      count, attributes, data, address);
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return enter(
      EntryId::cuPointerSetAttribute, Needs::context,
      [&](Call&) -> CUresult {
        if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
        const bool on = *static_cast<const unsigned*>(value) != 0;
        if (const auto block = memory().find(address)) {
          return memory().update(block->base, [on](Block& found) { found.sync_memops = on; }) ? CUDA_SUCCESS
                                                                                              : CUDA_ERROR_INVALID_VALUE;
        }
        return virtual_memory().set_sync_memops(address, on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      },
      value, attribute, address);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  return enter(
      EntryId::cuMemGetAddressRange_v2, Needs::context,
      [&](Call&) -> CUresult {
        CUdeviceptr found_base = 0;
        std::size_t found_size = 0;
        const CUresult code = address_range(address, found_base, found_size);
        if (code != CUDA_SUCCESS) return code;
        if (base != nullptr) *base = found_base;
        if (size != nullptr) *size = found_size;
        return CUDA_SUCCESS;
      },
      base, size, address);
}
