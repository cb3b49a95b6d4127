// SPDX-License-Identifier: Apache-2.0
//
// Entry points: managed memory. It lives in host memory that every device reaches; what is modelled of its movement is the account:
// prefetching to a device charges that device until it is prefetched elsewhere or freed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tools/simgpu/charge.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/host_memory.h"
#include "tools/simgpu/memory.h"

using namespace cupool::simgpu;

namespace {

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

int ordinal_of(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID : CU_DEVICE_CPU;
}

CUresult check_location(const CUmemLocation& location) {
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return driver().device(location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// The managed block that holds all of a range.
CUresult managed_range(CUdeviceptr address, std::size_t bytes, Block& block) {
  const auto found = bytes == 0 ? std::nullopt : memory().find(address);
  if (!found || found->kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  if (address - found->base + bytes > ((found->size + kHostPage - 1) & ~(kHostPage - 1))) return CUDA_ERROR_INVALID_VALUE;
  block = *found;
  return CUDA_SUCCESS;
}

CUresult prefetch(Call& call, CUdeviceptr address, std::size_t bytes, const CUmemLocation& to, CUstream handle, StreamMode mode) {
  Block block;
  if (const CUresult code = managed_range(address, bytes, block); code != CUDA_SUCCESS) return code;
  if (const CUresult code = check_location(to); code != CUDA_SUCCESS) return code;
  StreamRef stream;
  if (const CUresult code = stream_of(*call.context, handle, mode, stream); code != CUDA_SUCCESS) return code;
  std::shared_ptr<void> resident;
  if (to.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    // Oversubscription is allowed: without room the pages stay where they are.
    auto charge =
        Charge::take(*driver().device(to.id), protocol::Purpose::resident, (bytes + kDevicePage - 1) & ~(kDevicePage - 1));
    if (charge) resident = std::make_shared<Charge>(std::move(*charge));
  }
  memory().update(block.base, [&](Block& found) {
    found.owned.swap(resident);  // what was charged before ends after the lock
    found.managed.prefetched = to;
  });
  return CUDA_SUCCESS;
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice, const CUmemLocation& location) {
  Block block;
  if (const CUresult code = managed_range(address, bytes, block); code != CUDA_SUCCESS) return code;
  const bool needs_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                              advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (needs_location) {
    if (const CUresult code = check_location(location); code != CUDA_SUCCESS) return code;
  }
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) return CUDA_ERROR_INVALID_VALUE;
  memory().update(block.base, [&](Block& found) {
    ManagedState& state = found.managed;
    const int ordinal = ordinal_of(location);
    switch (static_cast<int>(advice)) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
        state.read_mostly = true;
        break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        state.read_mostly = false;
        break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        state.preferred = location;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        state.preferred = {CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};
        break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        if (std::find(state.accessed_by.begin(), state.accessed_by.end(), ordinal) == state.accessed_by.end()) {
          state.accessed_by.push_back(ordinal);
        }
        break;
      default:
        std::erase(state.accessed_by, ordinal);
        break;
    }
  });
  return CUDA_SUCCESS;
}

CUresult range_attribute(void* data, std::size_t size, CUmem_range_attribute attribute, const ManagedState& state) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
    auto* out = static_cast<int*>(data);
    for (std::size_t i = 0; i < size / sizeof(int); ++i)
      out[i] = i < state.accessed_by.size() ? state.accessed_by[i] : CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
  }
  if (size != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  int value = 0;
  switch (static_cast<int>(attribute)) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      value = state.read_mostly ? 1 : 0;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      value = ordinal_of(state.preferred);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      value = ordinal_of(state.prefetched);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      value = state.preferred.type;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      value = state.preferred.id;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      value = state.prefetched.type;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      value = state.prefetched.id;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult attach(Call& call, CUstream handle, CUdeviceptr address, unsigned flags, StreamMode mode) {
  const auto block = memory().find(address);
  if (!block || block->kind != MemoryKind::managed || block->base != address) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return CUDA_ERROR_INVALID_VALUE;
  StreamRef stream;
  return stream_of(*call.context, handle, mode, stream);
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
  return enter(
      EntryId::cuMemAllocManaged, Needs::context | Needs::uncaptured,
      [&](Call& call) -> CUresult {
        call.bytes = bytes;
        return out == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate_managed(*call.context, bytes, flags, *out);
      },
      out, bytes, flags);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return enter(
      EntryId::cuMemPrefetchAsync, Needs::context,
      [&](Call& call) { return prefetch(call, address, bytes, location_of(device), stream, StreamMode::legacy); }, address, bytes,
      device, stream);
}
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return enter(
      EntryId::cuMemPrefetchAsync_ptsz, Needs::context,
      [&](Call& call) { return prefetch(call, address, bytes, location_of(device), stream, StreamMode::per_thread); }, address,
      bytes, device, stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream) {
  return enter(
      EntryId::cuMemPrefetchAsync_v2, Needs::context,
      [&](Call& call) {
        return flags != 0 ? CUDA_ERROR_INVALID_VALUE : prefetch(call, address, bytes, location, stream, StreamMode::legacy);
      },
      address, bytes, location, flags, stream);
}
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                                    CUstream stream) {
  return enter(
      EntryId::cuMemPrefetchAsync_v2_ptsz, Needs::context,
      [&](Call& call) {
        return flags != 0 ? CUDA_ERROR_INVALID_VALUE : prefetch(call, address, bytes, location, stream, StreamMode::per_thread);
      },
      address, bytes, location, flags, stream);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return enter(
      EntryId::cuMemAdvise, Needs::context, [&](Call&) { return advise(address, bytes, advice, location_of(device)); }, address,
      bytes, advice, device);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return enter(
      EntryId::cuMemAdvise_v2, Needs::context, [&](Call&) { return advise(address, bytes, advice, location); }, address, bytes,
      advice, location);
}

CUresult cuMemRangeGetAttribute(void* data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address, size_t bytes) {
  return enter(
      EntryId::cuMemRangeGetAttribute, Needs::context,
      [&](Call&) -> CUresult {
        Block block;
        if (const CUresult code = managed_range(address, bytes, block); code != CUDA_SUCCESS) return code;
        return range_attribute(data, size, attribute, block.managed);
      },
      data, size, attribute, address, bytes);
}

CUresult cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count, CUdeviceptr address,
                                 size_t bytes) {
  return enter(
      EntryId::cuMemRangeGetAttributes, Needs::context,
      [&](Call&) -> CUresult {
        if (data == nullptr || sizes == nullptr || attributes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
        Block block;
        if (const CUresult code = managed_range(address, bytes, block); code != CUDA_SUCCESS) return code;
        for (std::size_t i = 0; i < count; ++i) {
          if (const CUresult code = range_attribute(data[i], sizes[i], attributes[i], block.managed); code != CUDA_SUCCESS)
            return code;
        }
        return CUDA_SUCCESS;
      },
      data, sizes, attributes, count, address, bytes);
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags) {
  return enter(
      EntryId::cuStreamAttachMemAsync, Needs::context,
      [&](Call& call) { return attach(call, stream, address, flags, StreamMode::legacy); }, stream, address, length, flags);
}
CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags) {
  return enter(
      EntryId::cuStreamAttachMemAsync_ptsz, Needs::context,
      [&](Call& call) { return attach(call, stream, address, flags, StreamMode::per_thread); }, stream, address, length, flags);
}
