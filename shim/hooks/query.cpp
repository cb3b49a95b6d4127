// SPDX-License-Identifier: Apache-2.0
//
// What a program is told about memory: its own account instead of the device's, and for pooled blocks what it would be told of
// memory from cuMemAlloc. The driver is asked first, so that wrong arguments and missing contexts get its own answers.
#include <cstring>

#include "shim/block_tag.h"
#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

using shim::process;

/// The device's memory as the job sees it; nothing where no policy governs.
std::optional<pool::DeviceView> view_of(CUdevice ordinal) {
  if (!process().is_governed()) return std::nullopt;
  const shim::Device* device = process().device(ordinal);
  if (device == nullptr) return std::nullopt;
  if (!device->fault().empty()) return pool::DeviceView{};  // nothing may be allocated: nothing is there
  const Result<pool::DeviceView> view = process().pool().view(device->id());
  return view ? std::optional(*view) : std::nullopt;
}

std::optional<pool::DeviceView> current_view() {
  CUdevice ordinal = -1;
  return driver::cuCtxGetDevice(&ordinal) == CUDA_SUCCESS ? view_of(ordinal) : std::nullopt;
}

unsigned saturated(Bytes bytes) {
  return static_cast<unsigned>(std::min<std::uint64_t>(bytes.count, UINT32_MAX));
}

/// A block of the pool that an address lies in.
std::optional<pool::Block> pooled_block(CUdeviceptr address) {
  if (!process().is_governed()) return std::nullopt;
  const auto found = process().pool().query(pool::Address{address});
  // Between the size that was asked for and what is given lies nothing of the program's.
  if (!found || found->beside || address - found->block.base.value >= found->block.size.count) return std::nullopt;
  return found->block;
}

/// An address of the pool in which no block lives: to the program it is no memory at all, whatever the driver has mapped there.
bool is_vacant(CUdeviceptr address) {
  return process().is_governed() && process().is_pool_address(address);
}

/// What the plural query fills in for an address that is no device memory.
void put_default(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      std::memset(data, 0, sizeof(void*));
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      std::memset(data, 0, sizeof(std::uint64_t));
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
      const int none = -2;  // the driver's own answer for memory of no device
      std::memcpy(data, &none, sizeof none);
      return;
    }
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      std::memset(data, 0, sizeof(bool));
      return;
    default:
      std::memset(data, 0, sizeof(unsigned));
      return;
  }
}

template <class Value>
CUresult put(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

/// The answer for a pooled block, in the way of cuMemAlloc memory; nothing where the driver's own answer is right.
std::optional<CUresult> pooled_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address, const pool::Block& block) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, process().contexts().at(shim::BlockTag::of(block).context).handle);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, address);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, static_cast<int>(block.device.index));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, static_cast<unsigned long long>(block.identity));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(data, static_cast<CUdeviceptr>(block.base.value));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(data, static_cast<std::size_t>(block.size.count));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, 0ull);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, static_cast<CUmemoryPool>(nullptr));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, false);
    default:
      return std::nullopt;
  }
}

}  // namespace

CUresult hook::cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  const CUresult code = driver::cuMemGetInfo_v2(free_bytes, total);
  if (code != CUDA_SUCCESS) return code;
  if (const auto view = current_view()) {
    if (free_bytes != nullptr) *free_bytes = view->free.count;
    if (total != nullptr) *total = view->total.count;
  }
  return code;
}

CUresult hook::cuMemGetInfo(unsigned int* free_bytes, unsigned int* total) {
  const CUresult code = driver::cuMemGetInfo(free_bytes, total);
  if (code != CUDA_SUCCESS) return code;
  if (const auto view = current_view()) {
    if (free_bytes != nullptr) *free_bytes = saturated(view->free);
    if (total != nullptr) *total = saturated(view->total);
  }
  return code;
}

CUresult hook::cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const CUresult code = driver::cuDeviceTotalMem_v2(bytes, device);
  if (code != CUDA_SUCCESS) return code;
  if (const auto view = view_of(device)) *bytes = view->total.count;
  return code;
}

CUresult hook::cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
  const CUresult code = driver::cuDeviceTotalMem(bytes, device);
  if (code != CUDA_SUCCESS) return code;
  if (const auto view = view_of(device)) *bytes = saturated(view->total);
  return code;
}

CUresult hook::cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const auto block = pooled_block(address);
  if (!block) return is_vacant(address) ? CUDA_ERROR_NOT_FOUND : driver::cuMemGetAddressRange_v2(base, size, address);
  if (base != nullptr) *base = block->base.value;
  if (size != nullptr) *size = block->size.count;
  return CUDA_SUCCESS;
}

CUresult hook::cuMemGetAddressRange(CUdeviceptr_v1* base, unsigned int* size, CUdeviceptr_v1 address) {
  return driver::cuMemGetAddressRange(base, size, address);  // addresses of the pool do not fit in this form
}

CUresult hook::cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto block = data == nullptr ? std::nullopt : pooled_block(address);
  if (!block)
    return data != nullptr && is_vacant(address) ? CUDA_ERROR_INVALID_VALUE
                                                 : driver::cuPointerGetAttribute(data, attribute, address);
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER || attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
    return CUDA_ERROR_INVALID_VALUE;
  const auto answer = pooled_attribute(data, attribute, address, *block);
  return answer ? *answer : driver::cuPointerGetAttribute(data, attribute, address);
}

CUresult hook::cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  const CUresult code = driver::cuPointerGetAttributes(count, attributes, data, address);
  if (code != CUDA_SUCCESS) return code;
  const auto block = pooled_block(address);
  const bool vacant = !block && is_vacant(address);
  for (unsigned index = 0; (block || vacant) && index < count; ++index) {
    if (data[index] == nullptr) continue;
    if (block)
      pooled_attribute(data[index], attributes[index], address, *block);
    else
      put_default(data[index], attributes[index]);
  }
  return code;
}

CUresult hook::cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return driver::cuPointerSetAttribute(value, attribute, address);
}

}  // namespace cupool
