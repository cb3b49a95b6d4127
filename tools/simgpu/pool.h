// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/address_space.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/physical.h"

/// The object behind a CUmemoryPool, by the tag that the driver's header gives it.
struct CUmemPoolHandle_st {};

namespace cupool::simgpu {

struct Device;

/// A stream-ordered memory pool.
///
/// Order: memory freed in a stream may be handed out again in the same stream at once, because everything submitted there later
/// runs later; in other streams only when the free has been reached. Growth is by segments of physical memory; empty segments
/// beyond the release threshold go back at the next synchronisation. Thread-safe: one lock per pool.
class MemoryPool : public CUmemPoolHandle_st, public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Physical memory is taken in steps of this size while there is room for it: what the driver's reserved counter shows.
  static constexpr std::uint64_t kGrowth = std::uint64_t{32} << 20;

  MemoryPool(const CUmemPoolProps& properties, std::uint32_t gpu);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  CUmemoryPool handle() { return static_cast<CUmemoryPool>(this); }
  const CUmemPoolProps& properties() const { return properties_; }
  std::uint32_t gpu() const { return gpu_; }
  /// A pool of another process: it can be imported from, not allocated from. Set before anybody else knows the pool.
  bool is_imported() const { return imported_; }
  void set_imported(std::shared_ptr<Physical> token) {
    imported_ = true;
    token_ = std::move(token);
  }

  /// Takes `bytes` for use in `stream`. CUDA_ERROR_OUT_OF_MEMORY when neither reuse nor growth has room.
  CUresult take(std::uint64_t bytes, std::uint64_t stream, DeviceAddress& base, std::shared_ptr<Physical>& physical,
                std::uint64_t& offset);

  /// The block was freed in `stream`; reached() says that the stream has come to that point.
  std::uint64_t free_in_stream(DeviceAddress base, std::uint64_t bytes, std::uint64_t stream);
  void reached(std::uint64_t free_number);
  /// Freed at once: cuMemFree.
  void free_now(DeviceAddress base, std::uint64_t bytes);
  bool has_pending();

  /// Returns empty segments until no more than `keep` bytes are reserved.
  void trim(std::uint64_t keep);
  void trim_to_threshold();

  CUresult set_attribute(CUmemPool_attribute attribute, const void* value);
  CUresult get_attribute(CUmemPool_attribute attribute, void* value);
  void set_rights(std::uint32_t gpu, Access access);
  Access rights_of(std::uint32_t gpu);

  /// Server handle that names this pool to other processes; made at the first export.
  CUresult share(std::shared_ptr<Physical>& token);
  std::uint64_t token() const { return token_ == nullptr ? 0 : token_->handle(); }

 private:
  struct Segment {
    std::shared_ptr<Physical> physical;
    std::uint64_t bytes = 0;
    AddressSpace free;
  };
  struct Pending {
    std::uint64_t number = 0;
    std::uint64_t stream = 0;
    DeviceAddress base = 0;
    std::uint64_t bytes = 0;
  };
  bool take_from_segments(std::uint64_t bytes, DeviceAddress& base);
  bool take_from_pending(std::uint64_t bytes, std::uint64_t stream, DeviceAddress& base);
  CUresult grow(std::uint64_t bytes);
  CUresult map_segment(std::shared_ptr<Physical> physical, std::uint64_t bytes);
  void unmap_segment(DeviceAddress base, Segment& segment);
  void give_back(DeviceAddress base, std::uint64_t bytes);
  std::map<DeviceAddress, Segment>::iterator segment_of(DeviceAddress address);
  void count_use(std::uint64_t bytes);
  void drop_empty_segments(std::uint64_t keep, std::vector<Segment>& dropped);

  const CUmemPoolProps properties_;
  const std::uint32_t gpu_;
  const bool on_host_;
  bool imported_ = false;

  std::mutex mutex_;
  std::map<DeviceAddress, Segment> segments_;
  std::list<Pending> pending_;
  std::uint64_t frees_ = 0;
  Rights rights_;
  std::shared_ptr<Physical> token_;
  int follow_events_ = 1;
  int opportunistic_ = 1;
  int internal_ = 1;
  std::uint64_t threshold_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t reserved_high_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t used_high_ = 0;
};

/// All pools of the process, and which is current where.
class PoolTable {
 public:
  /// A new pool, known by its handle until destroy().
  std::shared_ptr<MemoryPool> create(const CUmemPoolProps& properties, std::uint32_t gpu);
  std::shared_ptr<MemoryPool> find(CUmemoryPool handle);
  /// False for an unknown pool and for a default one. Blocks that are in use keep the pool's memory until they are freed.
  bool destroy(CUmemoryPool handle);

  /// The pool that a place begins with, and the one that is current there (cuDeviceSetMemPool, cuMemSetMemPool). Host and managed
  /// places have pools of their own.
  std::shared_ptr<MemoryPool> default_pool(const Device& device, CUmemLocationType type, CUmemAllocationType kind);
  std::shared_ptr<MemoryPool> current_pool(const Device& device, CUmemLocationType type, CUmemAllocationType kind);
  void set_current(const Device& device, CUmemLocationType type, CUmemAllocationType kind, std::shared_ptr<MemoryPool> pool);

  std::vector<std::shared_ptr<MemoryPool>> all();

 private:
  using Place = std::pair<std::uint32_t, int>;  // GPU; 0 device memory, 1 managed, 2 host
  static Place place(const Device& device, CUmemLocationType type, CUmemAllocationType kind);
  std::shared_ptr<MemoryPool> default_pool_locked(const Place& place, const CUmemPoolProps& properties, std::uint32_t gpu);

  std::mutex mutex_;
  std::vector<std::shared_ptr<MemoryPool>> pools_;
  std::map<Place, std::shared_ptr<MemoryPool>> defaults_;
  std::map<Place, std::shared_ptr<MemoryPool>> current_;
};
PoolTable& pools();

/// Returns what pools hold beyond their thresholds. Called when a stream, event or context has been synchronised; cheap when
/// nothing is.
void release_idle_pool_memory();

/// Frees everything in the pools of a device whose last context has ended.
void drop_pools_of(const Device& device);

}  // namespace cupool::simgpu
