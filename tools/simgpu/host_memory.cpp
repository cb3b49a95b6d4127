// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/host_memory.h"

#include <sys/mman.h>

#include <memory>
#include <vector>

#include "tools/simgpu/context.h"
#include "tools/simgpu/linear_free.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/read_scope.h"
#include "tools/simgpu/real_memory.h"

namespace cupool::simgpu {
namespace {

// What the real machine keeps for itself, as the server does for device memory.
constexpr std::uint64_t kKeptFree = std::uint64_t{1} << 30;

constexpr std::uint64_t page_start(std::uint64_t address) {
  return address & ~(kHostPage - 1);
}
constexpr std::uint64_t page_end(std::uint64_t address) {
  return (address + kHostPage - 1) & ~(kHostPage - 1);
}

void unmap_pages(void* memory, std::size_t bytes) {
  munmap(memory, bytes);
}

/// Pages of our own, unmapped when the last kernel that could use them is done.
std::shared_ptr<void> take_pages(std::uint64_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  return {pages, [bytes](void* memory) { retire(memory, bytes, &unmap_pages); }};
}

// A page that two registrations share stays reachable until both are gone.
void forget_pages(const Block& gone) {
  page_table().unmap_host(gone.base, gone.size);
  const std::uint64_t start = page_start(gone.base);
  for (const Block& other : memory().overlapping(start, page_end(gone.base + gone.size) - start)) {
    if (other.kind != MemoryKind::registered && other.kind != MemoryKind::host && other.kind != MemoryKind::managed) continue;
    const bool read_only = other.kind == MemoryKind::registered && (other.flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
    page_table().map_host(other.base, other.size, Rights::all(read_only ? Access::read : Access::read_write));
  }
}

bool is_mapped(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t start = page_start(address);
  const std::uint64_t length = page_end(address + bytes) - start;
  std::vector<unsigned char> residency(length / kHostPage);
  return mincore(reinterpret_cast<void*>(start), length, residency.data()) == 0;
}

}  // namespace

CUresult allocate_host(Context& context, std::uint64_t bytes, unsigned flags, void*& out) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t span = page_end(bytes);
  const std::uint64_t available = real_memory_available();
  if (span < bytes || available < kKeptFree || span > available - kKeptFree) return CUDA_ERROR_OUT_OF_MEMORY;
  std::shared_ptr<void> pages = take_pages(span);
  if (pages == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const address = pages.get();
  Block block{.kind = MemoryKind::host,
              .base = reinterpret_cast<DeviceAddress>(address),
              .size = bytes,
              .device = &context.device(),
              .context = context.id(),
              .buffer_id = memory().next_buffer_id(),
              .flags = flags,
              .owned = std::move(pages)};
  if (!page_table().map_host(block.base, bytes, Rights::all(Access::read_write))) return CUDA_ERROR_OUT_OF_MEMORY;
  memory().add(std::move(block));
  out = address;
  return CUDA_SUCCESS;
}

CUresult free_host(Context* current, void* address) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory().find(reinterpret_cast<DeviceAddress>(address));
  if (!found || found->kind != MemoryKind::host || found->base != reinterpret_cast<DeviceAddress>(address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult code = wait_for_users(current, found->context); code != CUDA_SUCCESS) return code;
  const auto gone = memory().remove(found->base);
  if (!gone) return CUDA_ERROR_INVALID_VALUE;
  forget_pages(*gone);
  return CUDA_SUCCESS;
}

CUresult register_host(Context& context, void* pointer, std::uint64_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  const auto address = reinterpret_cast<DeviceAddress>(pointer);
  if (pointer == nullptr || bytes == 0 || address + bytes < address || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (page_table().in_device_range(address)) return CUDA_ERROR_INVALID_VALUE;
  if (!memory().overlapping(address, bytes).empty()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (!is_mapped(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const Access access = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0 ? Access::read : Access::read_write;
  if (!page_table().map_host(address, bytes, Rights::all(access))) return CUDA_ERROR_OUT_OF_MEMORY;
  memory().add(Block{.kind = MemoryKind::registered,
                     .base = address,
                     .size = bytes,
                     .device = &context.device(),
                     .context = context.id(),
                     .buffer_id = memory().next_buffer_id(),
                     .flags = flags});
  return CUDA_SUCCESS;
}

CUresult unregister_host(Context* current, void* pointer) {
  const auto address = reinterpret_cast<DeviceAddress>(pointer);
  const auto found = memory().find(address);
  if (!found || found->kind != MemoryKind::registered || found->base != address) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (const CUresult code = wait_for_users(current, found->context); code != CUDA_SUCCESS) return code;
  const auto gone = memory().remove(address);
  if (!gone) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  forget_pages(*gone);
  return CUDA_SUCCESS;
}

CUresult allocate_managed(Context& context, std::uint64_t bytes, unsigned flags, CUdeviceptr& out) {
  if (bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t span = page_end(bytes);
  if (span < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult error = CUDA_SUCCESS;
  // Memory of the server, so that it shares the machine's low-water mark; charged to nobody until it is moved to a device.
  auto physical = Physical::create(context.device().gpu, span, protocol::Purpose::managed, 0, 0, error);
  if (physical == nullptr) return error;
  const auto address = reinterpret_cast<DeviceAddress>(physical->data());
  if (!page_table().map_host(address, span, Rights::all(Access::read_write))) return CUDA_ERROR_OUT_OF_MEMORY;
  memory().add(Block{.kind = MemoryKind::managed,
                     .base = address,
                     .size = bytes,
                     .device = &context.device(),
                     .context = context.id(),
                     .physical = std::move(physical),
                     .buffer_id = memory().next_buffer_id(),
                     .flags = flags});
  out = address;
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
