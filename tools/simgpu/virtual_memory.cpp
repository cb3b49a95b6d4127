// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/virtual_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/memory.h"

namespace cupool::simgpu {
namespace {

constexpr bool is_power_of_two(std::uint64_t value) {
  return (value & (value - 1)) == 0;
}
constexpr bool on_device_pages(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return ((a | b | c) & (kDevicePage - 1)) == 0;
}

}  // namespace

VirtualMemory& virtual_memory() {
  static VirtualMemory* const made = new VirtualMemory;
  return *made;
}

// --- reservations

CUresult VirtualMemory::reserve(std::uint64_t size, std::uint64_t alignment, DeviceAddress hint, DeviceAddress& base) {
  if (size == 0 || size % kHostPage != 0 || hint % kHostPage != 0 || !is_power_of_two(alignment)) return CUDA_ERROR_INVALID_VALUE;
  if (size > kDeviceRangeLimit) return CUDA_ERROR_OUT_OF_MEMORY;
  DeviceAddress taken = 0;
  if (const CUresult code = memory().take_addresses(size, alignment == 0 ? kDevicePage : alignment, hint, taken);
      code != CUDA_SUCCESS) {
    return code;
  }
  const std::lock_guard lock(mutex_);
  reservations_.emplace(taken, size);
  base = taken;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::free_reservation(DeviceAddress base, std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = reservations_.find(base);
    if (found == reservations_.end() || found->second != size || overlaps_mapping(base, size)) return CUDA_ERROR_INVALID_VALUE;
    reservations_.erase(found);
  }
  memory().give_back_addresses(base, size);
  return CUDA_SUCCESS;
}

bool VirtualMemory::is_reserved(DeviceAddress base, std::uint64_t size) const {
  auto after = reservations_.upper_bound(base);
  if (after == reservations_.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return base - start < length && length - (base - start) >= size;
}

bool VirtualMemory::overlaps_mapping(DeviceAddress base, std::uint64_t size) const {
  auto after = mappings_.lower_bound(base);
  if (after != mappings_.end() && after->first - base < size) return true;
  if (after == mappings_.begin()) return false;
  const auto& [start, mapping] = *std::prev(after);
  return base - start < mapping.size;
}

// --- handles

CUresult VirtualMemory::add_handle(std::shared_ptr<Physical> physical, const CUmemAllocationProp& properties,
                                   CUmemGenericAllocationHandle& handle) {
  auto allocation = std::make_shared<Allocation>();
  allocation->physical = std::move(physical);
  allocation->properties = properties;
  allocation->references = 1;
  const std::lock_guard lock(mutex_);
  allocation->value = ++last_handle_;
  handle = allocation->value;
  handles_.emplace(handle, std::move(allocation));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::create(std::uint64_t size, const CUmemAllocationProp& wanted, CUmemGenericAllocationHandle& handle) {
  std::uint32_t gpu = 0;
  if (const CUresult code = check_properties(wanted, gpu); code != CUDA_SUCCESS) return code;
  if (size == 0 || size % kDevicePage != 0) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp granted = wanted;
  granted.allocFlags.compressionType = 0;  // a wish; whoever needs to know asks for the properties
  const std::uint32_t flags = wanted.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE ? std::uint32_t{protocol::kShareable} : 0U;
  const auto purpose = is_host_location(wanted.location.type) ? protocol::Purpose::host : protocol::Purpose::physical;
  CUresult error = CUDA_SUCCESS;
  auto physical = Physical::create(gpu, size, purpose, flags, packed(granted, gpu), error);
  return physical == nullptr ? error : add_handle(std::move(physical), granted, handle);
}

CUresult VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Allocation> ended;  // outlives the lock: giving memory back talks to the server
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second->references != 0) return CUDA_SUCCESS;
  ended = std::move(found->second);
  handles_.erase(found);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::retain(DeviceAddress address, CUmemGenericAllocationHandle& handle) {
  const std::lock_guard lock(mutex_);
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [base, mapping] = *std::prev(after);
  if (address - base >= mapping.size) return CUDA_ERROR_INVALID_VALUE;
  ++mapping.allocation->references;
  // A handle that was released while it was mapped comes back under its old value.
  handles_.emplace(mapping.allocation->value, mapping.allocation);
  handle = mapping.allocation->value;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp& out) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  out = found->second->properties;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::export_descriptor(CUmemGenericAllocationHandle handle, int& descriptor) {
  std::shared_ptr<Allocation> allocation;
  {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
    allocation = found->second;
  }
  if ((allocation->properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto exported = driver().connection().export_handle(allocation->physical->handle(), allocation->physical->word());
  if (!exported) return code_of(exported.error());
  descriptor = exported->take();
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::import_descriptor(int descriptor, CUmemGenericAllocationHandle& handle) {
  auto grant = driver().connection().import_descriptor(descriptor);
  if (!grant) return code_of(grant.error());
  CUmemAllocationProp properties{};
  const bool visible = unpacked(grant->word, grant->gpu, properties);
  const bool is_handle = grant->purpose == protocol::Purpose::physical || grant->purpose == protocol::Purpose::host;
  CUresult error = CUDA_SUCCESS;
  auto physical = Physical::adopt(std::move(*grant), error);
  if (!is_handle) return CUDA_ERROR_INVALID_VALUE;
  if (!visible) return CUDA_ERROR_INVALID_DEVICE;
  return physical == nullptr ? error : add_handle(std::move(physical), properties, handle);
}

// --- mappings

CUresult VirtualMemory::map(DeviceAddress base, std::uint64_t size, std::uint64_t offset, CUmemGenericAllocationHandle handle) {
  if (size == 0 || offset != 0 || !on_device_pages(base, size, offset)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end() || size > found->second->physical->bytes()) return CUDA_ERROR_INVALID_VALUE;
  if (!is_reserved(base, size) || overlaps_mapping(base, size)) return CUDA_ERROR_INVALID_VALUE;
  Mapping mapping;
  mapping.size = size;
  mapping.allocation = found->second;
  mapping.buffer_id = memory().next_buffer_id();
  page_table().map(base, size, found->second->physical->data(), Rights{});
  mappings_.emplace(base, std::move(mapping));
  return CUDA_SUCCESS;
}

bool VirtualMemory::whole_mappings(DeviceAddress base, std::uint64_t size, Mappings::iterator& first, Mappings::iterator& last) {
  first = mappings_.find(base);
  DeviceAddress next = base;
  for (last = first; last != mappings_.end() && last->first == next && next - base < size; ++last) next += last->second.size;
  return first != mappings_.end() && next - base == size;
}

CUresult VirtualMemory::unmap(DeviceAddress base, std::uint64_t size) {
  if (size == 0 || !on_device_pages(base, size, 0)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Mapping> ended;  // outlives the lock
  const std::lock_guard lock(mutex_);
  Mappings::iterator first;
  Mappings::iterator last;
  if (!whole_mappings(base, size, first, last)) return CUDA_ERROR_INVALID_VALUE;
  for (auto entry = first; entry != last; ++entry) {
    take_host_access(entry->first, entry->second);
    page_table().unmap(entry->first, entry->second.size);
    ended.push_back(std::move(entry->second));
  }
  mappings_.erase(first, last);
  return CUDA_SUCCESS;
}

std::optional<VirtualMemory::Place> VirtualMemory::find(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  auto reserved = reservations_.upper_bound(address);
  if (reserved == reservations_.begin()) return std::nullopt;
  --reserved;
  if (address - reserved->first >= reserved->second) return std::nullopt;
  Place place;
  place.reservation_base = reserved->first;
  place.reservation_size = reserved->second;
  auto mapped = mappings_.upper_bound(address);
  if (mapped == mappings_.begin()) return place;
  --mapped;
  const Mapping& mapping = mapped->second;
  if (address - mapped->first >= mapping.size) return place;
  place.is_mapped = true;
  place.mapping_base = mapped->first;
  place.mapping_size = mapping.size;
  place.properties = mapping.allocation->properties;
  place.buffer_id = mapping.buffer_id;
  place.block_id = mapping.allocation->physical->handle();
  place.rights = mapping.rights;
  place.host_access = mapping.host_access;
  return place;
}

bool VirtualMemory::set_sync_memops(DeviceAddress address, bool value) {
  const std::lock_guard lock(mutex_);
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin() || address - std::prev(after)->first >= std::prev(after)->second.size) return false;
  std::prev(after)->second.sync_memops = value;
  return true;
}

bool VirtualMemory::sync_memops(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  auto after = mappings_.upper_bound(address);
  return after != mappings_.begin() && address - std::prev(after)->first < std::prev(after)->second.size &&
         std::prev(after)->second.sync_memops;
}

}  // namespace cupool::simgpu
