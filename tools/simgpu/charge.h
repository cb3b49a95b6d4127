// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "policy/base/result.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {

struct Device;

/// An entry in the machine's account without memory behind it: context overhead, module code. Given back when it ends. Move-only.
class Charge {
 public:
  Charge() = default;
  /// Errc::no_memory when the GPU has no room for it.
  static Result<Charge> take(const Device& device, protocol::Purpose purpose, std::uint64_t bytes);

  Charge(Charge&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Charge& operator=(Charge&& other) noexcept;
  ~Charge() { give_back(); }
  void give_back();

 private:
  explicit Charge(std::uint64_t handle) : handle_(handle) {}
  std::uint64_t handle_ = 0;
};

}  // namespace cupool::simgpu
