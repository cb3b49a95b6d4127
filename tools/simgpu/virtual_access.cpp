// SPDX-License-Identifier: Apache-2.0
//
// Rights on mapped virtual memory, for devices and for the host.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/peer.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {
namespace {

bool is_known(CUmemAccess_flags flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// May this description be applied to memory with these properties?
CUresult check(const CUmemAccessDesc& wanted, const CUmemAllocationProp& properties) {
  if (!is_known(wanted.flags)) return CUDA_ERROR_INVALID_VALUE;
  if (is_host_location(wanted.location.type)) {
    // Memory on a device behind a bus has no host mapping.
    return is_host_location(properties.location.type) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
  if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = driver().device(wanted.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_SUCCESS;
  const Device* owner = driver().device(properties.location.id);
  return owner == device || (owner != nullptr && are_peers(*device, *owner)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

// The window's pages appear a second time, at the device address: with a length of 0, mremap duplicates a shared mapping. The
// system calls themselves, because sanitizers refuse addresses that they do not shadow.
void VirtualMemory::give_host_access(DeviceAddress base, Mapping& mapping, CUmemAccess_flags flags) {
  if (!mapping.host_access) {
    syscall(SYS_mremap, mapping.allocation->physical->data(), 0UL, mapping.size, MREMAP_MAYMOVE | MREMAP_FIXED, base);
    mapping.host_access = true;
  }
  const int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE : PROT_READ;
  syscall(SYS_mprotect, base, mapping.size, protection);
}

void VirtualMemory::take_host_access(DeviceAddress base, Mapping& mapping) {
  if (!mapping.host_access) return;
  syscall(SYS_mmap, base, mapping.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
  mapping.host_access = false;
}

CUresult VirtualMemory::set_access(DeviceAddress base, std::uint64_t size, const CUmemAccessDesc* descriptions, std::size_t count) {
  if (descriptions == nullptr || count == 0 || size == 0 || ((base | size) & (kDevicePage - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  Mappings::iterator first;
  Mappings::iterator last;
  if (!whole_mappings(base, size, first, last)) return CUDA_ERROR_INVALID_VALUE;
  // All of it or nothing.
  for (auto entry = first; entry != last; ++entry) {
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult code = check(descriptions[i], entry->second.allocation->properties); code != CUDA_SUCCESS) return code;
    }
  }
  for (auto entry = first; entry != last; ++entry) {
    Mapping& mapping = entry->second;
    for (std::size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& wanted = descriptions[i];
      if (is_host_location(wanted.location.type)) {
        if (wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
          take_host_access(entry->first, mapping);
        else
          give_host_access(entry->first, mapping, wanted.flags);
        continue;
      }
      const std::uint32_t gpu = driver().device(wanted.location.id)->gpu;
      const auto access = static_cast<Access>(wanted.flags);
      mapping.rights = mapping.rights.with(gpu, access);
      page_table().set_rights(entry->first, mapping.size, gpu, access);
    }
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::get_access(DeviceAddress address, const CUmemLocation& location, unsigned long long& flags) {
  const auto place = find(address);
  if (!place || !place->is_mapped) return CUDA_ERROR_INVALID_VALUE;
  if (is_host_location(location.type)) {
    flags = place->host_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = driver().device(location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  flags = static_cast<unsigned long long>(place->rights.of_device(device->gpu));
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
