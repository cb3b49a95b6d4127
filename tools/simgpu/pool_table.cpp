// SPDX-License-Identifier: Apache-2.0
//
// Which pools there are, and which one is current where.
#include <algorithm>

#include "tools/simgpu/device.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/pool.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {

PoolTable& pools() {
  static PoolTable* const made = new PoolTable;
  return *made;
}

std::shared_ptr<MemoryPool> PoolTable::create(const CUmemPoolProps& properties, std::uint32_t gpu) {
  auto pool = std::make_shared<MemoryPool>(properties, gpu);
  const std::lock_guard lock(mutex_);
  pools_.push_back(pool);
  return pool;
}

std::shared_ptr<MemoryPool> PoolTable::find(CUmemoryPool handle) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool->handle() == handle; });
  return found == pools_.end() ? nullptr : *found;
}

bool PoolTable::destroy(CUmemoryPool handle) {
  std::shared_ptr<MemoryPool> ended;  // outlives the lock: its memory goes back to the server
  const std::lock_guard lock(mutex_);
  for (const auto& [place, pool] : defaults_) {
    if (pool->handle() == handle) return false;
  }
  const auto found = std::find_if(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool->handle() == handle; });
  if (found == pools_.end()) return false;
  ended = *found;
  pools_.erase(found);
  // Where it was current the default pool is again.
  std::erase_if(current_, [&](const auto& entry) { return entry.second == ended; });
  return true;
}

PoolTable::Place PoolTable::place(const Device& device, CUmemLocationType type, CUmemAllocationType kind) {
  if (kind == CU_MEM_ALLOCATION_TYPE_MANAGED) return {device.gpu, 1};
  return is_host_location(type) ? Place{0, 2} : Place{device.gpu, 0};
}

std::shared_ptr<MemoryPool> PoolTable::default_pool_locked(const Place& place, const CUmemPoolProps& properties,
                                                           std::uint32_t gpu) {
  std::shared_ptr<MemoryPool>& pool = defaults_[place];
  if (pool == nullptr) {
    pool = std::make_shared<MemoryPool>(properties, gpu);
    pools_.push_back(pool);
  }
  return pool;
}

std::shared_ptr<MemoryPool> PoolTable::default_pool(const Device& device, CUmemLocationType type, CUmemAllocationType kind) {
  CUmemPoolProps properties{};
  properties.allocType = kind;
  properties.location = {type, type == CU_MEM_LOCATION_TYPE_DEVICE ? device.ordinal : 0};
  const std::lock_guard lock(mutex_);
  return default_pool_locked(place(device, type, kind), properties, device.gpu);
}

std::shared_ptr<MemoryPool> PoolTable::current_pool(const Device& device, CUmemLocationType type, CUmemAllocationType kind) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = current_.find(place(device, type, kind));
    if (found != current_.end()) return found->second;
  }
  return default_pool(device, type, kind);
}

void PoolTable::set_current(const Device& device, CUmemLocationType type, CUmemAllocationType kind,
                            std::shared_ptr<MemoryPool> pool) {
  const std::lock_guard lock(mutex_);
  current_[place(device, type, kind)] = std::move(pool);
}

std::vector<std::shared_ptr<MemoryPool>> PoolTable::all() {
  const std::lock_guard lock(mutex_);
  return pools_;
}

void drop_pools_of(const Device& device) {
  for (const auto& pool : pools().all()) {
    if (pool->gpu() != device.gpu) continue;
    for (const Block& block : memory().blocks_of(*pool)) {
      if (memory().remove(block.base)) pool->free_now(block.base, block.size);
    }
    pool->trim(0);
  }
}

}  // namespace cupool::simgpu
