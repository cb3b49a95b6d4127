// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/ptx/memory.h"

namespace cupool::simgpu {

class Context;

/// What a kernel of one context can reach: the page table with that device's rights.
class KernelMemory final : public ptx::Memory {
 public:
  explicit KernelMemory(Context& context);
  std::optional<ptx::Window> find(std::uint64_t address) override;
  ptx::BlockReport check(std::uint64_t address, std::uint32_t size, bool write) override;

 private:
  unsigned gpu_;
};

}  // namespace cupool::simgpu
