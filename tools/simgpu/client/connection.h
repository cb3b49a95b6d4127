// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/base/result.h"
#include "tools/simgpu/server/descriptor.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {

/// Memory that the server granted: a number that names it there and, until it has been mapped, a descriptor of it.
struct Grant {
  std::uint64_t handle = 0;
  std::uint64_t bytes = 0;
  std::uint32_t gpu = 0;
  std::uint64_t word = 0;  ///< what the creator attached
  protocol::Purpose purpose{};
  Descriptor memory;
};

/// A process's line to the machine's server. Thread-safe: one request at a time. Knows no CUDA: GPUs are the machine's ordinals.
///
/// Errors: Errc::no_memory (capacity, or the real machine is low: the reason is logged once), Errc::not_found,
/// Errc::invalid_argument, Errc::io when the server is gone; then every later request fails so too.
class Connection {
 public:
  /// Joins the machine of `directory` (started if need be), which must be the one that `gpus` and `memory` describe (empty: any).
  /// The reason of a refusal is in `message`.
  Result<Done> open(const std::string& directory, protocol::Role role, std::string_view gpus, std::string_view memory,
                    std::string& message);
  bool is_open() const { return static_cast<bool>(socket_); }

  const protocol::Machine& machine() const { return machine_; }

  Result<Grant> allocate(std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose, std::uint32_t flags,
                         std::uint64_t word = 0);
  /// One-way; counts before anything that any process asks later.
  void release(std::uint64_t handle, std::uint64_t count = 1);
  Result<protocol::Usage> usage(std::uint32_t gpu);
  /// Processes that hold memory of one GPU, with the bytes.
  Result<std::vector<std::pair<std::int32_t, std::uint64_t>>> processes(std::uint32_t gpu);
  /// A descriptor that names the handle to other processes and keeps it alive; the caller owns it.
  Result<Descriptor> export_handle(std::uint64_t handle, std::uint64_t word);
  Result<Grant> import_descriptor(int descriptor);
  /// Lets other processes open the handle by number and nonce. One-way.
  void publish(std::uint64_t handle, std::uint64_t nonce, std::uint64_t word);
  Result<Grant> open_published(std::uint64_t handle, std::uint64_t nonce);
  /// One-way: a device worked for so long; NVML's utilisation.
  void report_busy(std::uint32_t gpu, std::uint64_t nanoseconds);

 private:
  template <class Answer>
  bool exchange(const protocol::Request& request, Answer& answer, Descriptor& descriptor, int passed = -1);
  void send_one_way(const protocol::Request& request);
  Result<Grant> granted(const protocol::Request& request, int passed = -1);

  std::mutex mutex_;  // one request and its answer at a time
  Descriptor socket_;
  protocol::Machine machine_{};
};

/// Compiles on the server, on a connection of its own, so that it delays nothing else.
struct RemoteObject {
  bool compiled = false;
  Descriptor file;  ///< the object, or the compiler's words
};
Result<RemoteObject> compile_on_server(const std::string& directory, std::string_view source, bool optimised);

}  // namespace cupool::simgpu
