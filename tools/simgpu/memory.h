// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/address_space.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/physical.h"

namespace cupool::simgpu {

class Context;
class MemoryPool;
struct Device;

/// What a range of addresses is to the program.
enum class MemoryKind {
  linear,    ///< cuMemAlloc, cuMemAllocPitch
  module,    ///< a module's globals: the program may not free them
  pooled,    ///< stream-ordered
  imported,  ///< opened from another process (cuIpcOpenMemHandle, cuMemPoolImportPointer)
  managed,
  host,        ///< cuMemHostAlloc, cuMemAllocHost
  registered,  ///< cuMemHostRegister
};

/// What the program advised about managed memory, and where it was moved last. Device ordinals; CU_DEVICE_CPU (-1),
/// CU_DEVICE_INVALID (-2).
struct ManagedState {
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, -2};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, -2};
  std::vector<int> accessed_by{};
};

/// One range that the program received.
struct Block {
  MemoryKind kind{};
  DeviceAddress base = 0;
  std::uint64_t size = 0;    ///< as it was asked for
  std::uint64_t mapped = 0;  ///< bytes of address space it owns; 0 for a part of a chunk and for host memory
  Device* device = nullptr;
  std::uint64_t context = 0;  ///< id of the owning context; 0: none (pooled and VMM memory)
  std::shared_ptr<Physical> physical{};
  std::uint64_t offset = 0;     ///< of the block in `physical`
  std::uint64_t buffer_id = 0;  ///< unique in the process, never reused
  bool sync_memops = false;
  unsigned flags = 0;       ///< host memory: as given at its creation
  unsigned opened = 0;      ///< imported: how often
  std::uint64_t nonce = 0;  ///< of its IPC handle, once it has one
  std::shared_ptr<MemoryPool> pool{};
  std::shared_ptr<void> owned{};  ///< whatever else ends with the block: host pages, an account entry
  ManagedState managed{};
};

/// All memory that has one block per allocation, by address: linear, pooled, managed, host. Virtual memory management has its own
/// book (virtual_memory.h); both take addresses from one space and share the page table. Thread-safe: one lock.
class Memory {
 public:
  /// cuMemAlloc: up to 1 MiB are cut from 2 MiB chunks (512-byte aligned), more have handles of their own (2 MiB aligned).
  /// CUDA_ERROR_OUT_OF_MEMORY (2) when there is no room; `out` is untouched then. `kind`: linear or module.
  CUresult allocate(Context& context, std::uint64_t bytes, MemoryKind kind, CUdeviceptr& out);

  /// Frees a block by its base address if `may_free` agrees; CUDA_ERROR_INVALID_VALUE when there is none. Waits for nothing.
  CUresult release(DeviceAddress base, const std::function<bool(const Block&)>& may_free);

  /// The block that holds an address.
  std::optional<Block> find(DeviceAddress address) const;

  /// All blocks that touch [base, base + bytes).
  std::vector<Block> overlapping(DeviceAddress base, std::uint64_t bytes) const;

  /// Stream-ordered blocks of one pool.
  std::vector<Block> blocks_of(const MemoryPool& pool) const;

  /// Registers a block that somebody else has mapped (pools, managed, host, imported), and takes it out again.
  void add(Block block);
  std::optional<Block> remove(DeviceAddress base);
  /// Changes a block in place under the lock; false when there is none at `base`.
  bool update(DeviceAddress base, const std::function<void(Block&)>& change);

  /// Gives a context's memory back: reset, destroy. Answers with what was there: imports are the caller's to close.
  std::vector<Block> drop_context(std::uint64_t context);

  /// `device` may (or may no longer) reach linear memory that belongs to a context, now and later.
  void set_peer(const Context& owner, const Device& device, Access access);

  /// Address space for whoever maps by himself. CUDA_ERROR_OUT_OF_MEMORY when it is used up.
  CUresult take_addresses(std::uint64_t bytes, std::uint64_t alignment, DeviceAddress hint, DeviceAddress& base);
  void give_back_addresses(DeviceAddress base, std::uint64_t bytes);

  std::uint64_t next_buffer_id() { return buffer_ids_.fetch_add(1, std::memory_order_relaxed); }
  std::size_t block_count() const;

 private:
  struct Chunk {
    std::shared_ptr<Physical> physical;
    DeviceAddress base = 0;
    std::uint64_t context = 0;
    AddressSpace free;
  };
  CUresult map_new(Context& context, std::uint64_t bytes, std::shared_ptr<Physical>& physical, DeviceAddress& base);
  CUresult allocate_small(Context& context, std::uint64_t bytes, Block& block);
  void free_block(Block& block);
  Rights rights_for(const Context& context) const;

  mutable std::mutex mutex_;
  bool started_ = false;
  AddressSpace addresses_;
  std::map<DeviceAddress, Block> blocks_;
  std::map<DeviceAddress, Chunk> chunks_;
  std::map<std::uint64_t, std::uint64_t> peer_rights_;  // context id -> rights of other devices
  std::atomic<std::uint64_t> buffer_ids_{1};            // relaxed: uniqueness is all
};

/// The process's memory. Never destroyed.
Memory& memory();

}  // namespace cupool::simgpu
