// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "policy/base/result.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {

/// A connected program, or one that has died and whose memory is not given back yet.
using ClientId = std::uint64_t;
using HandleId = std::uint64_t;

/// One piece of physical memory, or one entry of the account without memory behind it.
struct HandleRecord {
  HandleId id = 0;
  std::uint32_t gpu = 0;
  std::uint64_t bytes = 0;
  protocol::Purpose purpose{};
  std::uint64_t nonce = 0;  ///< 0: not published
  std::uint64_t word = 0;
  bool seen_by_others = false;  ///< exported, published or opened at least once: its memory may not be recycled
  std::uint32_t exports = 0;    ///< exported descriptors that somebody still holds open
  std::map<ClientId, std::uint64_t> references;
  ClientId holder = 0;  ///< whom NVML shows it for: its creator, then whoever still refers to it; 0 when only a descriptor does
};

/// Who holds how much of each GPU. Pure bookkeeping: no descriptor, clock or socket, so that every rule of it can be tested alone.
///
/// A handle lives while a client refers to it or an exported descriptor of it is open; its bytes are charged exactly that long.
/// Not thread-safe.
class Account {
 public:
  explicit Account(std::vector<std::uint64_t> capacities) : gpus_(capacities.size()) {
    for (std::size_t i = 0; i < capacities.size(); ++i) gpus_[i].capacity = capacities[i];
  }

  /// Charges and creates. Errc::no_memory when the GPU's capacity does not suffice, Errc::invalid_argument for an unknown GPU.
  Result<HandleId> allocate(ClientId client, std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose);

  /// Null when there is none. The pointer is good until the next change.
  HandleRecord* find(HandleId handle);

  /// One more reference of `client`. Errc::not_found for an unknown handle.
  Result<Done> retain(ClientId client, HandleId handle);

  /// Takes `count` of the client's references away. The record, when that was the last of everything: the caller frees its memory.
  /// Errc::not_taken, changing nothing, when the client has fewer references.
  Result<std::optional<HandleRecord>> release(ClientId client, HandleId handle, std::uint64_t count);

  void hold_export(HandleId handle);
  std::optional<HandleRecord> drop_export(HandleId handle);

  /// All references of a client that is gone for good.
  std::vector<HandleRecord> drop_client(ClientId client);

  std::uint64_t used(std::uint32_t gpu) const { return gpus_.at(gpu).used; }
  std::uint64_t capacity(std::uint32_t gpu) const { return gpus_.at(gpu).capacity; }
  std::size_t gpu_count() const { return gpus_.size(); }
  std::size_t handle_count() const { return handles_.size(); }

  /// Bytes charged on one GPU per client that holds any.
  std::map<ClientId, std::uint64_t> holders(std::uint32_t gpu) const;

  /// Every GPU's use is the sum of its handles, and every reference has its counterpart. O(handles): tests.
  bool is_consistent() const;

 private:
  struct GpuState {
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;
  };
  std::optional<HandleRecord> end_if_unused(HandleRecord& record);

  std::vector<GpuState> gpus_;
  HandleId last_ = 0;
  std::unordered_map<HandleId, HandleRecord> handles_;
  std::unordered_map<ClientId, std::unordered_map<HandleId, std::uint64_t>> by_client_;
};

/// Whether bytes of this purpose count against the GPU's capacity.
constexpr bool is_charged(protocol::Purpose purpose) {
  return purpose != protocol::Purpose::managed && purpose != protocol::Purpose::host;
}
/// Whether there is memory behind it.
constexpr bool has_memory(protocol::Purpose purpose) {
  return purpose != protocol::Purpose::resident && purpose != protocol::Purpose::context && purpose != protocol::Purpose::module;
}

}  // namespace cupool::simgpu
