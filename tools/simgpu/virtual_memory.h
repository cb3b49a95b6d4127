// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/physical.h"

namespace cupool::simgpu {

/// Virtual memory management: reservations, handles, mappings, rights. Refuses what the driver refuses; the codes follow the
/// header's text and what projects report (cuda-surface sheet, section 2). Thread-safe: one lock, never held while the server is
/// asked.
class VirtualMemory {
 public:
  /// What a mapped or reserved address belongs to.
  struct Place {
    DeviceAddress reservation_base = 0;
    std::uint64_t reservation_size = 0;
    bool is_mapped = false;
    DeviceAddress mapping_base = 0;
    std::uint64_t mapping_size = 0;
    CUmemAllocationProp properties{};
    std::uint64_t buffer_id = 0;
    std::uint64_t block_id = 0;
    Rights rights;
    bool host_access = false;
  };

  CUresult reserve(std::uint64_t size, std::uint64_t alignment, DeviceAddress hint, DeviceAddress& base);
  CUresult free_reservation(DeviceAddress base, std::uint64_t size);

  CUresult create(std::uint64_t size, const CUmemAllocationProp& properties, CUmemGenericAllocationHandle& handle);
  CUresult release(CUmemGenericAllocationHandle handle);
  /// One more reference of the handle that is mapped at an address, under the value it was mapped by.
  CUresult retain(DeviceAddress address, CUmemGenericAllocationHandle& handle);
  CUresult properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp& out);

  CUresult map(DeviceAddress base, std::uint64_t size, std::uint64_t offset, CUmemGenericAllocationHandle handle);
  CUresult unmap(DeviceAddress base, std::uint64_t size);
  CUresult set_access(DeviceAddress base, std::uint64_t size, const CUmemAccessDesc* descriptions, std::size_t count);
  CUresult get_access(DeviceAddress address, const CUmemLocation& location, unsigned long long& flags);

  /// A descriptor that the caller owns; only for handles that were created exportable.
  CUresult export_descriptor(CUmemGenericAllocationHandle handle, int& descriptor);
  CUresult import_descriptor(int descriptor, CUmemGenericAllocationHandle& handle);

  std::optional<Place> find(DeviceAddress address);
  bool set_sync_memops(DeviceAddress address, bool value);
  bool sync_memops(DeviceAddress address);

 private:
  struct Allocation {
    CUmemGenericAllocationHandle value = 0;
    std::shared_ptr<Physical> physical;
    CUmemAllocationProp properties{};
    unsigned references = 0;  ///< cuMemCreate, import and retain; mappings hold it besides
  };
  struct Mapping {
    std::uint64_t size = 0;
    std::shared_ptr<Allocation> allocation;
    Rights rights;
    bool host_access = false;
    bool sync_memops = false;
    std::uint64_t buffer_id = 0;
  };
  using Mappings = std::map<DeviceAddress, Mapping>;

  CUresult add_handle(std::shared_ptr<Physical> physical, const CUmemAllocationProp& properties,
                      CUmemGenericAllocationHandle& handle);
  bool is_reserved(DeviceAddress base, std::uint64_t size) const;
  bool overlaps_mapping(DeviceAddress base, std::uint64_t size) const;
  bool whole_mappings(DeviceAddress base, std::uint64_t size, Mappings::iterator& first, Mappings::iterator& last);
  static void give_host_access(DeviceAddress base, Mapping& mapping, CUmemAccess_flags flags);
  static void take_host_access(DeviceAddress base, Mapping& mapping);

  std::mutex mutex_;
  std::map<DeviceAddress, std::uint64_t> reservations_;
  std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<Allocation>> handles_;
  Mappings mappings_;
  CUmemGenericAllocationHandle last_handle_ = 0;
};

/// The process's book of virtual memory. Never destroyed.
VirtualMemory& virtual_memory();

/// Properties as one word that travels with a handle to other processes. The location becomes the machine's.
std::uint64_t packed(const CUmemAllocationProp& properties, std::uint32_t gpu);
/// False when the handle lies on a GPU that this process cannot see.
bool unpacked(std::uint64_t word, std::uint32_t gpu, CUmemAllocationProp& properties);

/// Whether a handle with such properties can be created at all; `gpu` receives where.
CUresult check_properties(const CUmemAllocationProp& properties, std::uint32_t& gpu);

constexpr bool is_host_location(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

}  // namespace cupool::simgpu
