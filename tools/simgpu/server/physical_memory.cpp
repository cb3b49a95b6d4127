// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctime>

#include "tools/simgpu/real_memory.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kCheckEveryNs = 5'000'000;

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

bool PhysicalMemory::real_machine_is_low() {
  const std::uint64_t now = monotonic_ns();
  if (checked_at_ns_ != 0 && now - checked_at_ns_ < kCheckEveryNs) return was_low_;
  if (!meminfo_) meminfo_ = Descriptor{open("/proc/meminfo", O_RDONLY | O_CLOEXEC)};
  checked_at_ns_ = now;
  was_low_ = real_memory_available(meminfo_.get()) < low_water_;
  if (was_low_ && !recycled_.empty()) {
    drop_recycled();
    was_low_ = real_memory_available(meminfo_.get()) < low_water_;
  }
  return was_low_;
}

Result<PhysicalMemory::Created> PhysicalMemory::create(ClientId client, HandleId handle, std::uint64_t bytes, bool shareable,
                                                       bool may_recycle) {
  Descriptor memory;
  const auto mine = recycled_.find(client);
  if (may_recycle && mine != recycled_.end()) {
    auto& pieces = mine->second.pieces;
    // The newest first, as an allocator does: a program that relies on zeroes meets its own old bytes soonest.
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (piece->bytes != bytes) continue;
      memory = std::move(piece->memory);
      mine->second.sum -= bytes;
      pieces.erase(std::next(piece).base());
      break;
    }
  }
  if (!memory) {
    memory = Descriptor{memfd_create("simgpu", MFD_CLOEXEC)};
    if (!memory) return fail(Errc::io, "memfd_create");
    if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return fail(Errc::no_memory, "ftruncate");
  }
  const int number = memory.get();
  if (shareable || may_recycle) {
    kept_.emplace(handle, std::move(memory));
    return Created{number, Descriptor{}};
  }
  return Created{number, std::move(memory)};
}

int PhysicalMemory::descriptor(HandleId handle) const {
  const auto found = kept_.find(handle);
  return found == kept_.end() ? -1 : found->second.get();
}

void PhysicalMemory::end(HandleId handle, ClientId recycle_for, std::uint64_t bytes) {
  const auto found = kept_.find(handle);
  if (found == kept_.end()) return;
  if (recycle_for != 0 && bytes <= kRecycledPerClient) {
    RecycledOfClient& mine = recycled_[recycle_for];
    mine.pieces.push_back(Recycled{bytes, std::move(found->second)});
    mine.sum += bytes;
    while (mine.sum > kRecycledPerClient) {
      mine.sum -= mine.pieces.front().bytes;
      mine.pieces.pop_front();
    }
  }
  kept_.erase(found);
}

}  // namespace cupool::simgpu
