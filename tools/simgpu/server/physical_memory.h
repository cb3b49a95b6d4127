// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "policy/base/result.h"
#include "tools/simgpu/server/account.h"
#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

/// The memory behind handles: one memfd each, so that a process can reach only what it was given.
///
/// The server keeps a descriptor only for memory that may be handed out again (shareable, or recyclable within its process); for
/// the rest the client's mapping keeps the pages, so that tens of thousands of handles need no descriptors. Not thread-safe.
class PhysicalMemory {
 public:
  /// Memory that a process gave back and may receive again with its old content is kept up to this amount per process.
  static constexpr std::uint64_t kRecycledPerClient = std::uint64_t{256} << 20;

  /// `low_water`: how much the real machine must have available beyond a request's own risk for anything more to be granted.
  explicit PhysicalMemory(std::uint64_t low_water) : low_water_(low_water) {}

  /// The real machine has less than the low-water mark available. Reads /proc/meminfo at most every 5 ms.
  bool real_machine_is_low();
  std::uint64_t low_water() const { return low_water_; }

  /// A descriptor to hand to the client; `owned` closes it afterwards unless the server keeps it.
  struct Created {
    int number = -1;
    Descriptor owned;
  };

  /// Zeroed memory, or what this client recycled. Errc::io when no descriptor can be made.
  Result<Created> create(ClientId client, HandleId handle, std::uint64_t bytes, bool shareable, bool may_recycle);

  /// The kept descriptor of a handle, -1 when none is kept.
  int descriptor(HandleId handle) const;

  /// The handle has ended. Its memory is kept for `recycle_for` (0: nobody), or returned to the real machine.
  void end(HandleId handle, ClientId recycle_for, std::uint64_t bytes);

  /// Forgets what a client recycled.
  void drop_client(ClientId client) { recycled_.erase(client); }
  void drop_recycled() { recycled_.clear(); }

 private:
  struct Recycled {
    std::uint64_t bytes;
    Descriptor memory;
  };
  struct RecycledOfClient {
    std::deque<Recycled> pieces;
    std::uint64_t sum = 0;
  };

  std::uint64_t low_water_;
  std::uint64_t checked_at_ns_ = 0;
  bool was_low_ = false;
  Descriptor meminfo_;
  std::unordered_map<HandleId, Descriptor> kept_;
  std::unordered_map<ClientId, RecycledOfClient> recycled_;
};

std::uint64_t monotonic_ns();

}  // namespace cupool::simgpu
