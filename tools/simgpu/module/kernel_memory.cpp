// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/kernel_memory.h"

#include "tools/simgpu/context.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {

KernelMemory::KernelMemory(Context& context) : gpu_(context.device().gpu) {}

std::optional<ptx::Window> KernelMemory::find(std::uint64_t address) {
  const std::uint64_t page = page_table().in_device_range(address) ? kDevicePage : kHostPage;
  const std::uint64_t begin = address & ~(page - 1);
  std::byte* const readable = page_table().translate(begin, gpu_, Access::read);
  std::byte* const writable = page_table().translate(begin, gpu_, Access::write);
  std::byte* const host = readable != nullptr ? readable : writable;
  if (host == nullptr) return std::nullopt;
  return ptx::Window{begin, begin + page, host, readable != nullptr, writable != nullptr};
}

ptx::BlockReport KernelMemory::check(std::uint64_t address, std::uint32_t size, bool write) {
  if (page_table().translate(address, gpu_, write ? Access::write : Access::read) == nullptr) return {};
  const std::optional<Block> block = memory().find(address);
  if (block && address + size <= block->base + block->size) return {true, {}};
  ptx::BlockReport report;
  // Virtual memory has no blocks: a mapped page is the program's, whatever it keeps there.
  if (!block) {
    const auto place = page_table().in_device_range(address) ? virtual_memory().find(address) : std::nullopt;
    report.inside = place && place->is_mapped;
    if (!report.inside) report.neighbour = "no live block there";
  }
  if (block) {
    report.neighbour = std::to_string(address + size - block->base - block->size) + " bytes past the end of a block of " +
                       std::to_string(block->size) + " bytes";
  }
  return report;
}

}  // namespace cupool::simgpu
