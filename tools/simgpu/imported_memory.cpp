// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/imported_memory.h"

#include <sys/random.h>

#include "tools/simgpu/device.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/memory.h"

namespace cupool::simgpu {

ImportedMemory& imported_memory() {
  static ImportedMemory* const made = new ImportedMemory;
  return *made;
}

CUresult ImportedMemory::open(const SharedRange& range, const Device& device, DeviceAddress& base,
                              std::shared_ptr<Physical>& physical) {
  std::shared_ptr<Physical> spare;  // outlives the lock
  const std::lock_guard lock(mutex_);
  Piece& piece = pieces_[range.handle];
  if (piece.uses == 0) {
    const auto forget = [&](CUresult code) {
      spare = std::move(piece.physical);
      pieces_.erase(range.handle);
      return code;
    };
    auto grant = driver().connection().open_published(range.handle, range.nonce);
    if (!grant) return forget(code_of(grant.error()));
    CUresult error = CUDA_SUCCESS;
    piece.physical = Physical::adopt(std::move(*grant), error);
    if (piece.physical == nullptr) return forget(error);
    if (range.offset > piece.physical->bytes() || range.size > piece.physical->bytes() - range.offset)
      return forget(CUDA_ERROR_INVALID_VALUE);
    if (const CUresult code = memory().take_addresses(piece.physical->bytes(), kDevicePage, 0, piece.base); code != CUDA_SUCCESS) {
      return forget(code);
    }
    page_table().map(piece.base, piece.physical->bytes(), piece.physical->data(), Rights::of(device.gpu, Access::read_write));
  } else {
    page_table().set_rights(piece.base, piece.physical->bytes(), device.gpu, Access::read_write);
  }
  ++piece.uses;
  base = piece.base;
  physical = piece.physical;
  return CUDA_SUCCESS;
}

void ImportedMemory::close(std::uint64_t handle) {
  Piece ended;  // outlives the lock
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(handle);
  if (found == pieces_.end() || --found->second.uses != 0) return;
  ended = std::move(found->second);
  pieces_.erase(found);
  page_table().unmap(ended.base, ended.physical->bytes());
  memory().give_back_addresses(ended.base, ended.physical->bytes());
}

std::uint64_t publish(Physical& physical) {
  static std::mutex* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  if (physical.nonce == 0) {
    std::uint64_t random = 0;
    while (random == 0) {
      if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
        random = physical.handle() * 0x9e3779b97f4a7c15;
    }
    physical.nonce = random;
    driver().connection().publish(physical.handle(), random, physical.word());
  }
  return physical.nonce;
}

}  // namespace cupool::simgpu
