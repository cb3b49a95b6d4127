// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "pool/backing.h"
#include "pool/lock_rank.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// One device's memory over the driver's virtual memory management.
///
/// Handles are asked for with a descriptor type (so that blocks can be shared between processes) and the RDMA flag where the device
/// has them; when the driver refuses, they are asked for without, and that is remembered. Every call runs in relaxed capture mode,
/// and nothing is unmapped while a capture is open anywhere (Errc::busy): the driver would refuse or, worse, invalidate it.
/// After an error that is fatal to the context no further driver call is made (Errc::driver).
/// Thread-safe.
class DriverBacking final : public pool::Backing {
 public:
  explicit DriverBacking(CUdevice device);

  Result<pool::Address> reserve(Bytes size, Bytes alignment) override;
  Result<pool::HandleId> create(Bytes size) override;
  Result<Done> map(pool::Address at, Bytes size, std::span<const pool::HandleId> handles) override;
  Result<Done> unmap(pool::Address at, Bytes length) override;
  Result<Done> release(pool::HandleId handle) override;
  Result<Done> free_range(pool::Address at, Bytes size) override;

  /// Gives another device access to what is mapped and will be. Peer access that is switched on for a context has no effect on
  /// virtual memory, so the shim does it by hand.
  void add_peer(CUdevice peer);

  /// Whether an address lies in a range that was reserved here: the pool's, live or not.
  bool is_inside(pool::Address at) const;

  /// A descriptor of the handle for another process; the caller closes it.
  Result<int> export_handle(pool::HandleId handle);
  /// Whether handles can be shared with other processes.
  bool exports() const { return handle_type_.load(std::memory_order_relaxed) == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; }

  /// The granularity of handles on this device; zero when it has no virtual memory management.
  Bytes granularity() const { return granularity_; }
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  CUmemAllocationProp properties() const;
  CUresult create_with_fallback(CUmemGenericAllocationHandle* handle, std::size_t size);
  CUresult set_access(pool::Address at, Bytes length);
  void open_mapped_to(CUdevice peer);
  /// Counts the call, notes errors after which the context is lost, and turns the code into ours.
  Result<Done> outcome(CUresult code);

  const CUdevice device_;
  Bytes granularity_{};
  /// Written once, on the first refusal; a thread that reads the old value merely asks once more.
  std::atomic<int> handle_type_{CU_MEM_HANDLE_TYPE_NONE};
  std::atomic<bool> rdma_{false};
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> calls_{0};
  mutable pool::RankedMutex mutex_{pool::LockRank::shim};
  std::map<std::uint64_t, std::uint64_t> reserved_ CUPOOL_GUARDED_BY(mutex_);  ///< start to length
  std::vector<CUdevice> peers_ CUPOOL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> mapped_ CUPOOL_GUARDED_BY(mutex_);  ///< start to length of every mapping, for later peers
};

}  // namespace cupool::shim
