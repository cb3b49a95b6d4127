// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/pool.h"

#include <algorithm>

#include "tools/simgpu/device.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kStep = 512;

constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

// Pools that may hold more than their threshold: lets a synchronisation find out cheaply that there is nothing to do. Relaxed: a
// free that another thread makes at the same moment is found by the next synchronisation.
std::atomic<bool> g_may_have_idle{false};

}  // namespace

MemoryPool::MemoryPool(const CUmemPoolProps& properties, std::uint32_t gpu)
    : properties_(properties),
      gpu_(gpu),
      on_host_(is_host_location(properties.location.type) || properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED),
      rights_(on_host_ ? Rights::all(Access::read_write) : Rights::of(gpu, Access::read_write)) {}

MemoryPool::~MemoryPool() {
  for (auto& [base, segment] : segments_) unmap_segment(base, segment);
}

// --- taking

CUresult MemoryPool::take(std::uint64_t bytes, std::uint64_t stream, DeviceAddress& base, std::shared_ptr<Physical>& physical,
                          std::uint64_t& offset) {
  const std::uint64_t size = rounded(bytes, kStep);
  if (size < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  if (!take_from_pending(size, stream, base) && !take_from_segments(size, base)) {
    if (const CUresult code = grow(size); code != CUDA_SUCCESS) return code;
    if (!take_from_segments(size, base)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  count_use(size);
  const auto segment = segment_of(base);
  physical = segment->second.physical;
  offset = base - segment->first;
  return CUDA_SUCCESS;
}

void MemoryPool::count_use(std::uint64_t bytes) {
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
}

bool MemoryPool::take_from_segments(std::uint64_t bytes, DeviceAddress& base) {
  for (auto& [start, segment] : segments_) {
    if (const auto taken = segment.free.take(bytes, kStep)) {
      base = *taken;
      return true;
    }
  }
  return false;
}

bool MemoryPool::take_from_pending(std::uint64_t bytes, std::uint64_t stream, DeviceAddress& base) {
  for (auto entry = pending_.begin(); entry != pending_.end(); ++entry) {
    if (entry->stream != stream || entry->bytes < bytes) continue;
    base = entry->base;
    entry->base += bytes;
    entry->bytes -= bytes;
    if (entry->bytes == 0) pending_.erase(entry);
    return true;
  }
  return false;
}

CUresult MemoryPool::grow(std::uint64_t bytes) {
  const std::uint64_t exact = rounded(bytes, kDevicePage);
  const std::uint64_t limit = properties_.maxSize == 0 ? UINT64_MAX : properties_.maxSize;
  CUresult error = CUDA_ERROR_OUT_OF_MEMORY;
  // In large steps; exactly what is needed when the device, or the pool's limit, has no room for that.
  for (const std::uint64_t size : {rounded(bytes, kGrowth), exact}) {
    if (size < bytes || size > limit || reserved_ > limit - size) continue;
    const auto purpose = !on_host_                                                 ? protocol::Purpose::pool
                         : properties_.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED ? protocol::Purpose::managed
                                                                                   : protocol::Purpose::host;
    const std::uint32_t flags = properties_.handleTypes != CU_MEM_HANDLE_TYPE_NONE ? std::uint32_t{protocol::kShareable} : 0U;
    auto physical = Physical::create(gpu_, size, purpose, flags, 0, error);
    if (physical != nullptr) return map_segment(std::move(physical), size);
    if (error != CUDA_ERROR_OUT_OF_MEMORY) return error;
  }
  return error;
}

CUresult MemoryPool::map_segment(std::shared_ptr<Physical> physical, std::uint64_t bytes) {
  DeviceAddress base = reinterpret_cast<DeviceAddress>(physical->data());
  if (on_host_) {
    if (!page_table().map_host(base, bytes, rights_)) return CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    if (const CUresult code = memory().take_addresses(bytes, kDevicePage, 0, base); code != CUDA_SUCCESS) return code;
    page_table().map(base, bytes, physical->data(), rights_);
  }
  Segment segment{std::move(physical), bytes, {}};
  segment.free.add(base, bytes);
  segments_.emplace(base, std::move(segment));
  reserved_ += bytes;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return CUDA_SUCCESS;
}

void MemoryPool::unmap_segment(DeviceAddress base, Segment& segment) {
  if (on_host_) {
    page_table().unmap_host(base, segment.bytes);
  } else {
    page_table().unmap(base, segment.bytes);
    memory().give_back_addresses(base, segment.bytes);
  }
}

std::map<DeviceAddress, MemoryPool::Segment>::iterator MemoryPool::segment_of(DeviceAddress address) {
  return std::prev(segments_.upper_bound(address));
}

// --- giving back

std::uint64_t MemoryPool::free_in_stream(DeviceAddress base, std::uint64_t bytes, std::uint64_t stream) {
  const std::uint64_t size = rounded(bytes, kStep);
  const std::lock_guard lock(mutex_);
  used_ -= size;
  pending_.push_back(Pending{++frees_, stream, base, size});
  return frees_;
}

void MemoryPool::reached(std::uint64_t free_number) {
  const std::lock_guard lock(mutex_);
  // What was taken again in the same stream meanwhile is no longer here.
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& one) { return one.number == free_number; });
  if (found == pending_.end()) return;
  give_back(found->base, found->bytes);
  pending_.erase(found);
}

void MemoryPool::free_now(DeviceAddress base, std::uint64_t bytes) {
  const std::uint64_t size = rounded(bytes, kStep);
  const std::lock_guard lock(mutex_);
  used_ -= size;
  give_back(base, size);
}

void MemoryPool::give_back(DeviceAddress base, std::uint64_t bytes) {
  segment_of(base)->second.free.give_back(base, bytes);
  if (reserved_ > threshold_) g_may_have_idle.store(true, std::memory_order_relaxed);
}

bool MemoryPool::has_pending() {
  const std::lock_guard lock(mutex_);
  return !pending_.empty();
}

void MemoryPool::drop_empty_segments(std::uint64_t keep, std::vector<Segment>& dropped) {
  for (auto entry = segments_.begin(); entry != segments_.end() && reserved_ > keep;) {
    Segment& segment = entry->second;
    // No less than asked for is kept.
    if (segment.free.free_bytes() != segment.bytes || reserved_ - segment.bytes < keep) {
      ++entry;
      continue;
    }
    unmap_segment(entry->first, segment);
    reserved_ -= segment.bytes;
    dropped.push_back(std::move(segment));
    entry = segments_.erase(entry);
  }
}

void MemoryPool::trim(std::uint64_t keep) {
  std::vector<Segment> dropped;  // outlives the lock
  const std::lock_guard lock(mutex_);
  drop_empty_segments(keep, dropped);
}

void MemoryPool::trim_to_threshold() {
  std::vector<Segment> dropped;
  const std::lock_guard lock(mutex_);
  if (reserved_ > threshold_) drop_empty_segments(threshold_, dropped);
}

// --- attributes and rights

CUresult MemoryPool::set_attribute(CUmemPool_attribute attribute, const void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto number = [&] { return *static_cast<const int*>(value); };
  const auto amount = [&] { return *static_cast<const cuuint64_t*>(value); };
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      follow_events_ = number() != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      opportunistic_ = number() != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      internal_ = number() != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = amount();
      if (reserved_ > threshold_) g_may_have_idle.store(true, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (amount() != 0) return CUDA_ERROR_INVALID_VALUE;  // may only be reset
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (amount() != 0) return CUDA_ERROR_INVALID_VALUE;
      used_high_ = used_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryPool::get_attribute(CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto number = [&](int it) {
    *static_cast<int*>(value) = it;
    return CUDA_SUCCESS;
  };
  const auto amount = [&](std::uint64_t it) {
    *static_cast<cuuint64_t*>(value) = it;
    return CUDA_SUCCESS;
  };
  switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return number(follow_events_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return number(opportunistic_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return number(internal_);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return amount(threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return amount(reserved_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return amount(reserved_high_);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return amount(used_);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return amount(used_high_);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void MemoryPool::set_rights(std::uint32_t gpu, Access access) {
  const std::lock_guard lock(mutex_);
  rights_ = rights_.with(gpu, access);
  for (const auto& [base, segment] : segments_) {
    if (!on_host_) page_table().set_rights(base, segment.bytes, gpu, access);
  }
}

Access MemoryPool::rights_of(std::uint32_t gpu) {
  const std::lock_guard lock(mutex_);
  return rights_.of_device(gpu);
}

CUresult MemoryPool::share(std::shared_ptr<Physical>& token) {
  const std::lock_guard lock(mutex_);
  if (token_ == nullptr) {
    CUresult error = CUDA_SUCCESS;
    const auto place = static_cast<std::uint64_t>(properties_.location.type);
    token_ = Physical::create(gpu_, 0, protocol::Purpose::pool, 0, place, error);
    if (token_ == nullptr) return error;
  }
  token = token_;
  return CUDA_SUCCESS;
}

void release_idle_pool_memory() {
  if (!g_may_have_idle.load(std::memory_order_relaxed)) return;
  g_may_have_idle.store(false, std::memory_order_relaxed);
  for (const auto& pool : pools().all()) pool->trim_to_threshold();
}

}  // namespace cupool::simgpu
