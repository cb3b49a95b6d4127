// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory pools themselves, and how they are shared between processes.
#include <unistd.h>

#include <cstring>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/imported_memory.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/peer.h"
#include "tools/simgpu/pool.h"
#include "tools/simgpu/virtual_memory.h"

using namespace cupool::simgpu;

namespace {

CUresult check(const CUmemPoolProps& properties, std::uint32_t& gpu) {
  const bool managed = properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = driver().device(0);
  if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    device = driver().device(properties.location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  } else if (!is_host_location(properties.location.type) && !(managed && properties.location.type == CU_MEM_LOCATION_TYPE_NONE)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!device->model->memory_pools) return CUDA_ERROR_NOT_SUPPORTED;
  gpu = device->gpu;
  const auto types = static_cast<unsigned>(properties.handleTypes);
  if ((types & ~(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0)
    return device->model->fabric_handles ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_SUPPORTED;
  return managed && types != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult set_access(MemoryPool& pool, const CUmemAccessDesc* wanted, std::size_t count) {
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const Device* owner = driver().device_of_gpu(pool.gpu());
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    const Device* device = driver().device(wanted[i].location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    // The owner's access cannot be taken away.
    const bool takes_owners = device == owner && wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (takes_owners) return CUDA_ERROR_INVALID_VALUE;
    if (device != owner && owner != nullptr && !are_peers(*device, *owner)) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    pool.set_rights(driver().device(wanted[i].location.id)->gpu, static_cast<Access>(wanted[i].flags));
  }
  return CUDA_SUCCESS;
}

CUresult export_pool(MemoryPool& pool, CUmemAllocationHandleType type, int& descriptor) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  if ((pool.properties().handleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Physical> token;
  if (const CUresult code = pool.share(token); code != CUDA_SUCCESS) return code;
  auto exported = driver().connection().export_handle(token->handle(), token->word());
  if (!exported) return code_of(exported.error());
  descriptor = exported->take();
  return CUDA_SUCCESS;
}

CUresult import_pool(int descriptor, CUmemAllocationHandleType type, CUmemoryPool& out) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  auto grant = driver().connection().import_descriptor(descriptor);
  if (!grant) return code_of(grant.error());
  CUresult error = CUDA_SUCCESS;
  auto token = Physical::adopt(std::move(*grant), error);
  if (token == nullptr || token->purpose() != protocol::Purpose::pool || token->bytes() != 0) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = driver().device_of_gpu(token->gpu());
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = type;
  properties.location = {static_cast<CUmemLocationType>(token->word()), device->ordinal};
  const auto pool = pools().create(properties, token->gpu());
  pool->set_imported(std::move(token));
  out = pool->handle();
  return CUDA_SUCCESS;
}

CUresult export_pointer(CUdeviceptr address, CUmemPoolPtrExportData& out) {
  const auto block = memory().find(address);
  if (!block || block->kind != MemoryKind::pooled || block->pool->properties().handleTypes == CU_MEM_HANDLE_TYPE_NONE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<Physical> token;
  if (const CUresult code = block->pool->share(token); code != CUDA_SUCCESS) return code;
  SharedRange range{};
  range.magic = kPoolMagic;
  range.handle = block->physical->handle();
  range.nonce = publish(*block->physical);
  range.offset = block->offset;
  range.size = block->size;
  range.block = block->buffer_id;
  range.pool = token->handle();
  range.process = getpid();
  std::memcpy(&out, &range, sizeof range);
  return CUDA_SUCCESS;
}

CUresult import_pointer(const std::shared_ptr<MemoryPool>& pool, const CUmemPoolPtrExportData& data, CUdeviceptr& out) {
  SharedRange range{};
  std::memcpy(&range, &data, sizeof range);
  if (range.magic != kPoolMagic || !pool->is_imported() || range.pool != pool->token()) return CUDA_ERROR_INVALID_VALUE;
  Device* device = driver().device_of_gpu(pool->gpu());
  Block block{
      .kind = MemoryKind::imported, .size = range.size, .device = device, .buffer_id = memory().next_buffer_id(), .pool = pool};
  DeviceAddress base = 0;
  if (const CUresult code = imported_memory().open(range, *device, base, block.physical); code != CUDA_SUCCESS) return code;
  block.base = base + range.offset;
  block.offset = range.offset;
  if (const auto known = memory().find(block.base); known && known->base == block.base) {
    imported_memory().close(range.handle);  // imported before and not freed yet
    return CUDA_ERROR_ALREADY_MAPPED;
  }
  out = block.base;
  memory().add(std::move(block));
  return CUDA_SUCCESS;
}

template <class Work>
CUresult with_pool(EntryId id, CUmemoryPool handle, Work&& work) {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const auto pool = pools().find(handle);
        return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : work(pool);
      },
      handle);
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return enter(
      EntryId::cuMemPoolCreate, Needs::init,
      [&](Call&) -> CUresult {
        std::uint32_t gpu = 0;
        if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = check(*properties, gpu); code != CUDA_SUCCESS) return code;
        *out = pools().create(*properties, gpu)->handle();
        return CUDA_SUCCESS;
      },
      out, properties);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return enter(
      EntryId::cuMemPoolDestroy, Needs::init,
      [&](Call&) -> CUresult { return pools().destroy(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }, handle);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  return with_pool(EntryId::cuMemPoolTrimTo, handle, [&](const auto& pool) {
    pool->trim(keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(EntryId::cuMemPoolSetAttribute, handle, [&](const auto& pool) { return pool->set_attribute(attribute, value); });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(EntryId::cuMemPoolGetAttribute, handle, [&](const auto& pool) { return pool->get_attribute(attribute, value); });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* wanted, size_t count) {
  return with_pool(EntryId::cuMemPoolSetAccess, handle, [&](const auto& pool) { return set_access(*pool, wanted, count); });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return with_pool(EntryId::cuMemPoolGetAccess, handle, [&](const auto& pool) -> CUresult {
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    const Device* device = driver().device(location->id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *flags = static_cast<CUmemAccess_flags>(pool->rights_of(device->gpu));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle, CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return with_pool(EntryId::cuMemPoolExportToShareableHandle, handle, [&](const auto& pool) {
    return out == nullptr || flags != 0 ? CUDA_ERROR_INVALID_VALUE : export_pool(*pool, type, *static_cast<int*>(out));
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* os_handle, CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return enter(
      EntryId::cuMemPoolImportFromShareableHandle, Needs::init,
      [&](Call&) -> CUresult {
        if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        return import_pool(static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle)), type, *out);
      },
      out, os_handle, type, flags);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  return enter(
      EntryId::cuMemPoolExportPointer, Needs::init,
      [&](Call&) { return out == nullptr ? CUDA_ERROR_INVALID_VALUE : export_pointer(address, *out); }, out, address);
}

CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle, CUmemPoolPtrExportData* data) {
  return with_pool(EntryId::cuMemPoolImportPointer, handle, [&](const auto& pool) {
    return out == nullptr || data == nullptr ? CUDA_ERROR_INVALID_VALUE : import_pointer(pool, *data, *out);
  });
}
