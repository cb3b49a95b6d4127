// SPDX-License-Identifier: Apache-2.0
#include "shim/own_memory.h"

namespace cupool::shim {

void OwnMemory::created(CUmemGenericAllocationHandle handle, pool::DeviceId device, Bytes bytes) {
  pool::RankedLock lock(mutex_);
  pieces_[handle] = Piece{device, bytes};
}

void OwnMemory::retained(CUmemGenericAllocationHandle handle) {
  pool::RankedLock lock(mutex_);
  const auto found = pieces_.find(handle);
  if (found != pieces_.end()) ++found->second.references;
}

std::optional<OwnMemory::Ended> OwnMemory::end_if_gone(CUmemGenericAllocationHandle handle, Piece& piece) {
  if (piece.references != 0 || piece.mappings != 0) return std::nullopt;
  const Ended ended{piece.device, piece.bytes};
  pieces_.erase(handle);
  return ended;
}

std::optional<OwnMemory::Ended> OwnMemory::released(CUmemGenericAllocationHandle handle) {
  pool::RankedLock lock(mutex_);
  const auto found = pieces_.find(handle);
  if (found == pieces_.end() || found->second.references == 0) return std::nullopt;
  --found->second.references;
  return end_if_gone(handle, found->second);
}

void OwnMemory::mapped(CUdeviceptr at, std::size_t, CUmemGenericAllocationHandle handle) {
  pool::RankedLock lock(mutex_);
  const auto found = pieces_.find(handle);
  if (found == pieces_.end()) return;
  mappings_[at] = handle;
  ++found->second.mappings;
}

std::vector<OwnMemory::Ended> OwnMemory::unmapped(CUdeviceptr at, std::size_t bytes) {
  pool::RankedLock lock(mutex_);
  std::vector<Ended> all;
  for (auto mapping = mappings_.lower_bound(at); mapping != mappings_.end() && mapping->first - at < bytes;) {
    const auto found = pieces_.find(mapping->second);
    if (found != pieces_.end() && found->second.mappings != 0) {
      --found->second.mappings;
      if (const auto ended = end_if_gone(found->first, found->second)) all.push_back(*ended);
    }
    mapping = mappings_.erase(mapping);
  }
  return all;
}

}  // namespace cupool::shim
