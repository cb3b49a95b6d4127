// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/pointer_attributes.h"

#include <cstring>
#include <optional>

#include "tools/simgpu/context.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/pool.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {
namespace {

/// All answers about one address; an attribute that does not apply has none.
struct Answers {
  CUcontext context = nullptr;
  unsigned memory_type = CU_MEMORYTYPE_DEVICE;
  CUdeviceptr device_pointer = 0;
  std::optional<void*> host_pointer;
  std::optional<unsigned> sync_memops;
  std::optional<unsigned long long> buffer_id;
  unsigned managed = 0;
  int ordinal = CU_DEVICE_INVALID;
  unsigned ipc_capable = 0;
  CUdeviceptr range_start = 0;
  std::size_t range_size = 0;
  unsigned mapped = 1;
  unsigned long long handle_types = 0;
  unsigned rdma_capable = 0;
  unsigned access_flags = 0;
  std::optional<CUmemoryPool> pool;
  CUdeviceptr mapping_base = 0;
  std::size_t mapping_size = 0;
  unsigned long long block_id = 0;
};

CUcontext context_handle(std::uint64_t id) {
  for (const auto& context : contexts().all()) {
    if (context->id() == id) return context->handle();
  }
  return nullptr;
}

unsigned access_of(const Context& current, CUdeviceptr address) {
  const std::uint32_t gpu = current.device().gpu;
  unsigned flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (page_table().translate(address, gpu, Access::read) != nullptr) flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  if (page_table().translate(address, gpu, Access::read_write) != nullptr) flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return flags;
}

bool is_host_memory(MemoryKind kind) {
  return kind == MemoryKind::host || kind == MemoryKind::registered;
}

Answers answers_for(const Context& current, const Block& block, CUdeviceptr address) {
  Answers answers;
  const bool on_host = is_host_memory(block.kind);
  const bool host_visible = !page_table().in_device_range(block.base);
  answers.context = context_handle(block.context);
  answers.memory_type = on_host || (host_visible && block.kind == MemoryKind::pooled) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  answers.device_pointer = address;
  if (host_visible) answers.host_pointer = reinterpret_cast<void*>(address);
  answers.sync_memops = block.sync_memops ? 1U : 0U;
  answers.buffer_id = block.buffer_id;
  answers.managed = block.kind == MemoryKind::managed ? 1 : 0;
  answers.ordinal = block.device == nullptr ? CU_DEVICE_INVALID : block.device->ordinal;
  answers.ipc_capable = block.kind == MemoryKind::linear ? 1 : 0;
  answers.range_start = block.base;
  answers.range_size = block.size;
  if (block.pool != nullptr) {
    answers.pool = block.pool->handle();
    answers.handle_types = static_cast<unsigned long long>(block.pool->properties().handleTypes);
    if (block.pool->properties().allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) answers.managed = 1;
  }
  answers.rdma_capable =
      block.kind == MemoryKind::linear && block.device != nullptr && block.device->model->gpu_direct_rdma ? 1 : 0;
  answers.access_flags = access_of(current, address);
  answers.mapping_base = block.physical == nullptr ? block.base : block.base - block.offset;
  answers.mapping_size = block.physical == nullptr ? block.size : block.physical->bytes();
  answers.block_id = block.physical == nullptr ? block.buffer_id : block.physical->handle();
  return answers;
}

Answers answers_for(const Context& current, const VirtualMemory::Place& place, CUdeviceptr address) {
  Answers answers;
  const bool on_host = is_host_location(place.properties.location.type);
  answers.memory_type = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  answers.device_pointer = address;
  if (place.host_access) answers.host_pointer = reinterpret_cast<void*>(address);
  answers.sync_memops = virtual_memory().sync_memops(address) ? 1U : 0U;
  answers.buffer_id = place.buffer_id;
  answers.ordinal = on_host ? CU_DEVICE_INVALID : place.properties.location.id;
  answers.range_start = place.reservation_base;
  answers.range_size = place.reservation_size;
  answers.handle_types = static_cast<unsigned long long>(place.properties.requestedHandleTypes);
  answers.rdma_capable = place.properties.allocFlags.gpuDirectRDMACapable;
  answers.access_flags = access_of(current, address);
  answers.mapping_base = place.mapping_base;
  answers.mapping_size = place.mapping_size;
  answers.block_id = place.block_id;
  return answers;
}

template <class T>
CUresult put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}
template <class T>
CUresult put(void* data, const std::optional<T>& value) {
  return value ? put(data, *value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult select(const Answers& answers, CUpointer_attribute attribute, void* data) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, answers.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, answers.memory_type);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, answers.device_pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(data, answers.host_pointer);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, answers.sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, answers.buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, answers.managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, answers.ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, answers.ipc_capable);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, answers.range_start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, answers.range_size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, answers.mapped);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, answers.handle_types);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(data, answers.rdma_capable);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, answers.access_flags);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, answers.pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(data, answers.mapping_size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(data, answers.mapping_base);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(data, answers.block_id);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put(data, 0U);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// A reserved address where nothing is mapped still has its range.
CUresult select_unmapped(const VirtualMemory::Place& place, CUpointer_attribute attribute, void* data) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, static_cast<CUdeviceptr>(place.reservation_base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, static_cast<std::size_t>(place.reservation_size));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 0U);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult pointer_attribute(const Context& current, CUpointer_attribute attribute, CUdeviceptr address, void* data) {
  if (const auto block = memory().find(address)) return select(answers_for(current, *block, address), attribute, data);
  const auto place = virtual_memory().find(address);
  if (!place) return CUDA_ERROR_INVALID_VALUE;
  return place->is_mapped ? select(answers_for(current, *place, address), attribute, data)
                          : select_unmapped(*place, attribute, data);
}

CUresult default_pointer_attribute(CUpointer_attribute attribute, void* data) {
  Answers none;
  none.memory_type = 0;
  none.host_pointer = nullptr;
  none.sync_memops = 0U;
  none.buffer_id = 0ULL;
  none.mapped = 0;
  none.pool = nullptr;
  if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return put(data, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS{});
  return select(none, attribute, data);
}

CUresult address_range(CUdeviceptr address, CUdeviceptr& base, std::size_t& size) {
  if (const auto block = memory().find(address)) {
    if (block->kind == MemoryKind::managed) return CUDA_ERROR_NOT_FOUND;
    base = block->base;
    size = block->size;
    return CUDA_SUCCESS;
  }
  const auto place = virtual_memory().find(address);
  if (!place || !place->is_mapped) return CUDA_ERROR_NOT_FOUND;
  base = place->mapping_base;
  size = place->mapping_size;
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
