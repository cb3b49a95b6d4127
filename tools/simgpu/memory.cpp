// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/memory.h"

#include <algorithm>

#include "tools/simgpu/context.h"
#include "tools/simgpu/driver.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kSmallest = 512;                           // alignment of every block
constexpr std::uint64_t kLargestInChunk = std::uint64_t{1} << 20;  // beyond it a block has handles of its own

constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) & ~(step - 1);
}

}  // namespace

Memory& memory() {
  static Memory* const made = new Memory;
  return *made;
}

CUresult Memory::take_addresses(std::uint64_t bytes, std::uint64_t alignment, DeviceAddress hint, DeviceAddress& base) {
  const std::uint64_t span = rounded(bytes, kDevicePage);
  const std::lock_guard lock(mutex_);
  if (!started_) {
    started_ = true;
    addresses_.add(kDeviceBase, page_table().range_bytes());
  }
  if (hint != 0 && hint % kDevicePage == 0 && hint % alignment == 0) {
    if (auto at = addresses_.take_at(hint, span)) {
      base = *at;
      return CUDA_SUCCESS;
    }
  }
  const auto taken = addresses_.take(span, std::max(alignment, kDevicePage));
  if (!taken) return CUDA_ERROR_OUT_OF_MEMORY;
  base = *taken;
  return CUDA_SUCCESS;
}

void Memory::give_back_addresses(DeviceAddress base, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  addresses_.give_back(base, rounded(bytes, kDevicePage));
}

Rights Memory::rights_for(const Context& context) const {
  Rights rights = Rights::of(context.device().gpu, Access::read_write);
  const auto peers = peer_rights_.find(context.id());
  if (peers != peer_rights_.end()) rights.bits |= peers->second;
  return rights;
}

CUresult Memory::map_new(Context& context, std::uint64_t bytes, std::shared_ptr<Physical>& physical, DeviceAddress& base) {
  CUresult error = CUDA_SUCCESS;
  physical = Physical::create(context.device().gpu, bytes, protocol::Purpose::linear, protocol::kShareable, 0, error);
  if (physical == nullptr) return error;
  if (const CUresult code = take_addresses(bytes, kDevicePage, 0, base); code != CUDA_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  page_table().map(base, bytes, physical->data(), rights_for(context));
  return CUDA_SUCCESS;
}

CUresult Memory::allocate_small(Context& context, std::uint64_t bytes, Block& block) {
  const auto take_from_chunk = [&] {
    for (auto& [base, chunk] : chunks_) {
      if (chunk.context != context.id()) continue;
      const auto at = chunk.free.take(bytes, kSmallest);
      if (!at) continue;
      block.base = *at;
      block.physical = chunk.physical;
      block.offset = *at - base;
      return true;
    }
    return false;
  };
  {
    const std::lock_guard lock(mutex_);
    if (take_from_chunk()) return CUDA_SUCCESS;
  }
  Chunk chunk;
  chunk.context = context.id();
  if (const CUresult code = map_new(context, kDevicePage, chunk.physical, chunk.base); code != CUDA_SUCCESS) return code;
  chunk.free.add(chunk.base, kDevicePage);
  const std::lock_guard lock(mutex_);
  chunks_.emplace(chunk.base, std::move(chunk));
  return take_from_chunk() ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Memory::allocate(Context& context, std::uint64_t bytes, MemoryKind kind, CUdeviceptr& out) {
  Block block{.kind = kind, .size = bytes, .device = &context.device(), .context = context.id(), .buffer_id = next_buffer_id()};
  const std::uint64_t size = rounded(bytes, kSmallest);
  if (size < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  if (size <= kLargestInChunk) {
    if (const CUresult code = allocate_small(context, size, block); code != CUDA_SUCCESS) return code;
  } else {
    block.mapped = rounded(size, kDevicePage);
    if (block.mapped < size) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult code = map_new(context, block.mapped, block.physical, block.base); code != CUDA_SUCCESS) return code;
  }
  out = block.base;
  add(std::move(block));
  return CUDA_SUCCESS;
}

void Memory::free_block(Block& block) {
  if (block.mapped != 0) {
    page_table().unmap(block.base, block.mapped);
    addresses_.give_back(block.base, block.mapped);
    return;
  }
  if (block.kind == MemoryKind::host || block.kind == MemoryKind::registered || block.kind == MemoryKind::managed) {
    page_table().unmap_host(block.base, block.size);
    return;
  }
  if (block.kind != MemoryKind::linear && block.kind != MemoryKind::module) return;
  const auto chunk = chunks_.find(block.base - block.offset);
  if (chunk == chunks_.end()) return;
  chunk->second.free.give_back(block.base, rounded(block.size, kSmallest));
  if (chunk->second.free.free_bytes() != kDevicePage) return;
  page_table().unmap(chunk->first, kDevicePage);
  addresses_.give_back(chunk->first, kDevicePage);
  chunks_.erase(chunk);
}

CUresult Memory::release(DeviceAddress base, const std::function<bool(const Block&)>& may_free) {
  Block freed;  // outlives the lock: giving the memory back talks to the server
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(base);
  if (found == blocks_.end() || !may_free(found->second)) return CUDA_ERROR_INVALID_VALUE;
  freed = std::move(found->second);
  blocks_.erase(found);
  free_block(freed);
  return CUDA_SUCCESS;
}

std::optional<Block> Memory::find(DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  // A block ends where its size does, rounded to what nobody else can have.
  const std::uint64_t span = std::max(block.mapped, rounded(block.size, kSmallest));
  return address - block.base < (block.kind == MemoryKind::registered ? block.size : span) ? std::optional{block} : std::nullopt;
}

std::vector<Block> Memory::overlapping(DeviceAddress base, std::uint64_t bytes) const {
  std::vector<Block> found;
  const std::lock_guard lock(mutex_);
  auto entry = blocks_.upper_bound(base);
  if (entry != blocks_.begin()) --entry;
  for (; entry != blocks_.end() && (entry->first < base || entry->first - base < bytes); ++entry) {
    const Block& block = entry->second;
    if (block.base + block.size > base) found.push_back(block);
  }
  return found;
}

std::vector<Block> Memory::blocks_of(const MemoryPool& pool) const {
  std::vector<Block> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [base, block] : blocks_) {
    if (block.pool.get() == &pool) found.push_back(block);
  }
  return found;
}

void Memory::add(Block block) {
  const std::lock_guard lock(mutex_);
  const DeviceAddress base = block.base;
  blocks_.insert_or_assign(base, std::move(block));
}

std::optional<Block> Memory::remove(DeviceAddress base) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(base);
  if (found == blocks_.end()) return std::nullopt;
  Block block = std::move(found->second);
  blocks_.erase(found);
  return block;
}

bool Memory::update(DeviceAddress base, const std::function<void(Block&)>& change) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(base);
  if (found == blocks_.end()) return false;
  change(found->second);
  return true;
}

std::vector<Block> Memory::drop_context(std::uint64_t context) {
  std::vector<Block> dropped;
  const std::lock_guard lock(mutex_);
  for (auto entry = blocks_.begin(); entry != blocks_.end();) {
    if (entry->second.context != context) {
      ++entry;
      continue;
    }
    free_block(entry->second);
    dropped.push_back(std::move(entry->second));
    entry = blocks_.erase(entry);
  }
  peer_rights_.erase(context);
  return dropped;
}

void Memory::set_peer(const Context& owner, const Device& device, Access access) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& rights = peer_rights_[owner.id()];
  rights = Rights{rights}.with(device.gpu, access).bits;
  for (const auto& [base, block] : blocks_) {
    if (block.context == owner.id() && block.mapped != 0) page_table().set_rights(base, block.mapped, device.gpu, access);
  }
  for (const auto& [base, chunk] : chunks_) {
    if (chunk.context == owner.id()) page_table().set_rights(base, kDevicePage, device.gpu, access);
  }
}

std::size_t Memory::block_count() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

}  // namespace cupool::simgpu
