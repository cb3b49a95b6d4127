// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/page_table.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#if defined(__SANITIZE_THREAD__)
#define SIMGPU_RANGE_IS_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMGPU_RANGE_IS_GUARDED 1
#endif
#endif

namespace cupool::simgpu {
namespace {

// ThreadSanitizer keeps the gap between its shadows, where the device range lies, mapped and inaccessible: taking it over is
// harmless.
#ifdef SIMGPU_RANGE_IS_GUARDED
constexpr int kPlace = MAP_FIXED;
#else
constexpr int kPlace = MAP_FIXED_NOREPLACE;
#endif

static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t) && std::atomic<std::uint64_t>::is_always_lock_free,
              "generated kernels read entries as plain 64-bit words");

constexpr std::uint64_t kOffsetMask = kDevicePage - 1;
constexpr std::uint64_t kHostDirectoryEntries = std::uint64_t{1} << (47 - kDevicePageBits);

// The system call itself and not the C library's mmap: sanitizers refuse mappings outside the ranges that they shadow, and nothing
// instrumented ever touches this range.
void* reserve_at(std::uint64_t address, std::uint64_t bytes) {
  const long result = syscall(SYS_mmap, address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kPlace, -1, 0L);
  if (result == -1) return nullptr;
  // Kernels before 4.17 take the address as a hint.
  if (static_cast<std::uint64_t>(result) != address) {
    syscall(SYS_munmap, result, bytes);
    return nullptr;
  }
  return reinterpret_cast<void*>(result);
}

template <class T>
T* lazily_committed(std::uint64_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

void* slow_translate(std::uint64_t address, std::uint64_t mask) {
  return page_table().translate_mask(address, mask);
}

}  // namespace

PageTable& page_table() {
  alignas(PageTable) static std::byte storage[sizeof(PageTable)];
  static PageTable* table = new (storage) PageTable;
  return *table;
}

Result<Done> PageTable::start(std::uint64_t range_bytes) {
  if (count_ != 0) return Done{};
  if (range_bytes == 0 || range_bytes % kDevicePage != 0 || range_bytes > kDeviceRangeLimit) {
    return fail(Errc::invalid_argument, "the device range must be a multiple of 2 MiB, at most 16 TiB");
  }
  if (reserve_at(kDeviceBase, range_bytes) == nullptr)
    return fail(Errc::no_memory, "the device address range could not be reserved");
  const std::uint64_t count = range_bytes >> kDevicePageBits;
  entries_ = lazily_committed<std::atomic<std::uint64_t>>(count);
  host_directory_ = lazily_committed<std::atomic<HostLeaf*>>(kHostDirectoryEntries);
  if (entries_ == nullptr || host_directory_ == nullptr) return fail(Errc::no_memory, "no address space for the page table");
  count_ = count;
  return Done{};
}

void PageTable::map(DeviceAddress address, std::uint64_t bytes, std::byte* host, Rights rights) {
  const std::uint64_t first = (address - kDeviceBase) >> kDevicePageBits;
  for (std::uint64_t page = 0; page < bytes >> kDevicePageBits; ++page) {
    // Release: whoever finds the entry also finds what was written to the memory before it was mapped.
    entries_[first + page].store(reinterpret_cast<std::uint64_t>(host + (page << kDevicePageBits)) | rights.bits,
                                 std::memory_order_release);
  }
}

void PageTable::set_rights(DeviceAddress address, std::uint64_t bytes, unsigned device, Access access) {
  const std::uint64_t first = (address - kDeviceBase) >> kDevicePageBits;
  const std::uint64_t clear = ~rights_mask(device, Access::read_write);
  for (std::uint64_t page = 0; page < bytes >> kDevicePageBits; ++page) {
    const std::uint64_t entry = entries_[first + page].load(std::memory_order_relaxed);
    if (entry == 0) continue;
    entries_[first + page].store((entry & clear) | rights_mask(device, access), std::memory_order_release);
  }
}

void PageTable::unmap(DeviceAddress address, std::uint64_t bytes) {
  const std::uint64_t first = (address - kDeviceBase) >> kDevicePageBits;
  for (std::uint64_t page = 0; page < bytes >> kDevicePageBits; ++page) {
    // Sequentially consistent: pairs with the entry of a ReadScope (read_scope.cpp), so that either the scope is seen by retire()
    // or the scope's reader sees this 0.
    entries_[first + page].store(0, std::memory_order_seq_cst);
  }
}

Result<Done> PageTable::map_host(DeviceAddress address, std::uint64_t bytes, Rights rights) {
  const std::uint64_t end = (address + bytes + kHostPage - 1) & ~(kHostPage - 1);
  for (std::uint64_t page = address & ~(kHostPage - 1); page < end; page += kHostPage) {
    const std::uint64_t index = page >> kDevicePageBits;
    if (index >= kHostDirectoryEntries) return fail(Errc::invalid_argument, "not an address of host memory");
    HostLeaf* leaf = host_directory_[index].load(std::memory_order_acquire);
    if (leaf == nullptr) {
      // Pages of its own: a leaf is found only through the directory, whose pages leak checkers do not read, and it is never freed.
      leaf = lazily_committed<HostLeaf>(1);
      if (leaf == nullptr) return fail(Errc::no_memory);
      host_directory_[index].store(leaf, std::memory_order_release);  // publishes the zeroes; a leaf stays for good
    }
    leaf->rights[(page >> kHostPageBits) % (kDevicePage / kHostPage)].store(static_cast<std::uint32_t>(rights.bits),
                                                                            std::memory_order_release);
  }
  return Done{};
}

void PageTable::unmap_host(DeviceAddress address, std::uint64_t bytes) {
  const std::uint64_t end = (address + bytes + kHostPage - 1) & ~(kHostPage - 1);
  for (std::uint64_t page = address & ~(kHostPage - 1); page < end; page += kHostPage) {
    const std::uint64_t index = page >> kDevicePageBits;
    if (index >= kHostDirectoryEntries) return;
    HostLeaf* leaf = host_directory_[index].load(std::memory_order_acquire);
    if (leaf != nullptr) leaf->rights[(page >> kHostPageBits) % (kDevicePage / kHostPage)].store(0, std::memory_order_seq_cst);
  }
}

std::byte* PageTable::host_page(DeviceAddress address, std::uint64_t mask) const {
  const std::uint64_t index = address >> kDevicePageBits;
  if (host_directory_ == nullptr || index >= kHostDirectoryEntries) return nullptr;
  const HostLeaf* leaf = host_directory_[index].load(std::memory_order_acquire);
  if (leaf == nullptr) return nullptr;
  const std::uint32_t rights = leaf->rights[(address >> kHostPageBits) % (kDevicePage / kHostPage)].load(std::memory_order_acquire);
  return (rights & mask) == mask ? reinterpret_cast<std::byte*>(address) : nullptr;
}

std::byte* PageTable::translate_mask(DeviceAddress address, std::uint64_t mask) const {
  const std::uint64_t index = (address - kDeviceBase) >> kDevicePageBits;
  if (index >= count_) return host_page(address, mask);
  const std::uint64_t entry = entries_[index].load(std::memory_order_acquire);
  if (entry == 0 || (entry & mask) != mask) return nullptr;
  return reinterpret_cast<std::byte*>((entry & ~kOffsetMask) | (address & kOffsetMask));
}

std::uint64_t PageTable::run_end(DeviceAddress address, std::uint64_t end) const {
  const std::uint64_t page = in_device_range(address) ? kDevicePage : kHostPage;
  return std::min(end, (address & ~(page - 1)) + page);
}

bool PageTable::for_each_run(DeviceAddress address, std::uint64_t bytes, unsigned device, Access access,
                             const std::function<void(std::byte*, std::uint64_t)>& visit) const {
  if (address + bytes < address) return false;
  const std::uint64_t end = address + bytes;
  std::byte* run = nullptr;
  std::uint64_t length = 0;
  while (address < end) {
    std::byte* host = translate(address, device, access);
    const std::uint64_t piece = run_end(address, end) - address;
    if (run != nullptr && host == run + length) {
      length += piece;
    } else {
      if (run != nullptr) visit(run, length);
      if (host == nullptr) return false;
      run = host;
      length = piece;
    }
    address += piece;
  }
  if (run != nullptr) visit(run, length);
  return true;
}

KernelView PageTable::view_for(unsigned device) const {
  return KernelView{kDeviceBase,
                    count_,
                    reinterpret_cast<const std::uint64_t*>(entries_),
                    rights_mask(device, Access::read),
                    rights_mask(device, Access::write),
                    &slow_translate};
}

}  // namespace cupool::simgpu
