// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "policy/base/thread_annotations.h"
#include "pool/lock_rank.h"
#include "pool/request.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// The physical memory that the program creates by itself: charged at creation, credited when the driver really lets go of it,
/// which is when the last reference and the last mapping are gone. Thread-safe; makes no driver call and charges nothing itself.
class OwnMemory {
 public:
  /// Memory whose charge ends.
  struct Ended {
    pool::DeviceId device;
    Bytes bytes;
  };

  void created(CUmemGenericAllocationHandle handle, pool::DeviceId device, Bytes bytes);
  /// One more reference to a known handle; unknown ones are other processes' memory and not ours to count.
  void retained(CUmemGenericAllocationHandle handle);
  std::optional<Ended> released(CUmemGenericAllocationHandle handle);
  void mapped(CUdeviceptr at, std::size_t bytes, CUmemGenericAllocationHandle handle);
  std::vector<Ended> unmapped(CUdeviceptr at, std::size_t bytes);

 private:
  struct Piece {
    pool::DeviceId device;
    Bytes bytes;
    std::uint64_t references = 1;
    std::uint64_t mappings = 0;
  };
  std::optional<Ended> end_if_gone(CUmemGenericAllocationHandle handle, Piece& piece) CUPOOL_REQUIRES(mutex_);

  pool::RankedMutex mutex_{pool::LockRank::shim};
  std::unordered_map<CUmemGenericAllocationHandle, Piece> pieces_ CUPOOL_GUARDED_BY(mutex_);
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mappings_ CUPOOL_GUARDED_BY(mutex_);
};

}  // namespace cupool::shim
