// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "policy/base/result.h"

namespace cupool::simgpu {

/// An address as a program sees it: in the device range, or that of host memory which devices can reach.
using DeviceAddress = std::uint64_t;

inline constexpr unsigned kDevicePageBits = 21;
inline constexpr std::uint64_t kDevicePage = std::uint64_t{1} << kDevicePageBits;
inline constexpr unsigned kHostPageBits = 12;
inline constexpr std::uint64_t kHostPage = std::uint64_t{1} << kHostPageBits;

/// Rights of ten devices fit below the 2 MiB alignment of a page entry.
inline constexpr unsigned kMaxDevices = 10;

/// Where device addresses begin. Free under the plain, ASan and TSan memory layouts of x86-64 Linux; all addresses are below 2^47.
inline constexpr DeviceAddress kDeviceBase = 0x2000'0000'0000;
inline constexpr std::uint64_t kDeviceRangeLimit = std::uint64_t{16} << 40;

/// What one device may do with a page; also the mask to test for. Bits 2d (read) and 2d + 1 (write) of a page entry.
enum class Access : std::uint8_t { none = 0, read = 1, write = 2, read_write = 3 };

constexpr std::uint64_t rights_mask(unsigned device, Access access) {
  return static_cast<std::uint64_t>(access) << (2 * device);
}

/// Rights of several devices at once, in the bit layout of a page entry.
struct Rights {
  std::uint64_t bits = 0;

  static constexpr Rights of(unsigned device, Access access) { return Rights{rights_mask(device, access)}; }
  static constexpr Rights all(Access access) {
    Rights rights;
    for (unsigned device = 0; device < kMaxDevices; ++device) rights.bits |= rights_mask(device, access);
    return rights;
  }
  constexpr Rights with(unsigned device, Access access) const {
    return Rights{(bits & ~rights_mask(device, Access::read_write)) | rights_mask(device, access)};
  }
  constexpr Access of_device(unsigned device) const { return static_cast<Access>((bits >> (2 * device)) & 3); }
};

/// What generated kernel code needs to translate an address inline. Plain C layout; shared with compiled kernels.
///
///     i = (address - base) >> 21;
///     if (i < count && (entries[i] & mask) == mask) host = (entries[i] & ~0x1fffff) | (address & 0x1fffff);
///     else host = slow(address, mask);        // null: the access is a fault (error 700)
///
/// `mask` is read_mask, write_mask or both. An access never crosses a 2 MiB page when it is aligned to its size.
/// The host address stays usable until the ReadScope that the kernel runs in ends, whatever is unmapped meanwhile.
struct KernelView {
  std::uint64_t base;
  std::uint64_t count;
  const std::uint64_t* entries;
  std::uint64_t read_mask;
  std::uint64_t write_mask;
  void* (*slow)(std::uint64_t address, std::uint64_t mask);
};

/// The software page table: which host memory stands behind each address that a simulated device may touch, and who may.
///
/// Two parts. Device memory: a flat array with one 64-bit entry per 2 MiB page of the reserved range, committed as it is
/// touched; 0 means unmapped. Reachable host memory (pinned, registered, managed; same address on both sides): rights per 4 KiB
/// page below a sparse directory. Readers take no lock. Writers are serialised by the caller (Memory holds its lock).
/// An entry that a reader finds is valid for as long as the ReadScope it holds (read_scope.h).
class PageTable {
 public:
  /// Reserves the device range (PROT_NONE: host code that touches it faults, as on hardware) and the table for it.
  /// Errc::no_memory when the kernel refuses, Errc::invalid_argument for a size that is no multiple of 2 MiB or beyond the limit.
  Result<Done> start(std::uint64_t range_bytes);

  std::uint64_t range_bytes() const { return count_ << kDevicePageBits; }
  bool in_device_range(DeviceAddress address) const { return ((address - kDeviceBase) >> kDevicePageBits) < count_; }

  /// Device pages. `address` and `bytes` are multiples of 2 MiB inside the range, `host` is 2 MiB-aligned.
  void map(DeviceAddress address, std::uint64_t bytes, std::byte* host, Rights rights);
  void set_rights(DeviceAddress address, std::uint64_t bytes, unsigned device, Access access);
  /// The pages translate to nothing for whoever begins to look now. The host memory must outlive running ReadScopes: see retire().
  void unmap(DeviceAddress address, std::uint64_t bytes);

  /// Reachable host memory; any start and length, widened to whole 4 KiB pages.
  Result<Done> map_host(DeviceAddress address, std::uint64_t bytes, Rights rights);
  void unmap_host(DeviceAddress address, std::uint64_t bytes);

  /// Host memory behind one address for one device, or null when the page is unmapped or the right is missing.
  std::byte* translate(DeviceAddress address, unsigned device, Access access) const {
    return translate_mask(address, rights_mask(device, access));
  }
  std::byte* translate_mask(DeviceAddress address, std::uint64_t mask) const;

  /// Calls `visit` with each stretch of host memory behind [address, address + bytes), in order and as long as possible.
  /// False at the first page that is unmapped or lacks the right; stretches before it have been visited.
  bool for_each_run(DeviceAddress address, std::uint64_t bytes, unsigned device, Access access,
                    const std::function<void(std::byte* host, std::uint64_t length)>& visit) const;

  KernelView view_for(unsigned device) const;

 private:
  /// Directory of host memory: one leaf per 2 MiB of a 47-bit address space, each with rights per 4 KiB page.
  struct HostLeaf {
    std::atomic<std::uint32_t> rights[kDevicePage / kHostPage];
  };
  std::byte* host_page(DeviceAddress address, std::uint64_t mask) const;
  std::uint64_t run_end(DeviceAddress address, std::uint64_t end) const;

  std::uint64_t count_ = 0;
  // Relaxed reads: a reader needs the entry alone, and the memory behind it is kept by its ReadScope.
  std::atomic<std::uint64_t>* entries_ = nullptr;
  std::atomic<HostLeaf*>* host_directory_ = nullptr;
};

/// The process's page table. Never destroyed: kernels may run while the process exits.
PageTable& page_table();

}  // namespace cupool::simgpu
