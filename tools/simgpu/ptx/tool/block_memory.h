// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/simgpu/ptx/memory.h"
#include "tools/simgpu/ptx/program.h"

namespace cupool::simgpu::ptx {

/// Device memory for the tool and for tests: blocks at made-up device addresses, each on pages of its own. Not for simgpu itself.
///
/// Not thread-safe but for find() and check(), which workers call while nothing is allocated or freed.
class BlockMemory final : public Memory {
 public:
  /// Zeroed memory; the address is a multiple of 4 KiB. Its last page is mapped whole, as on a device.
  std::uint64_t allocate(std::size_t bytes, bool writable = true);
  /// Afterwards its pages are unmapped, unless `keep_mapped`, which is how a device's pages stay mapped for neighbours.
  void release(std::uint64_t address, bool keep_mapped = false);
  std::byte* host(std::uint64_t address);

  /// Allocates and fills the program's globals and gives an instance.
  std::shared_ptr<Instance> instantiate(const Program& program);

  std::optional<Window> find(std::uint64_t address) override;
  BlockReport check(std::uint64_t address, std::uint32_t size, bool write) override;

 private:
  struct Block {
    std::vector<std::byte> storage;
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    std::size_t pages = 0;
    bool writable = true;
    bool live = true;
  };
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t next_ = 0x2000'0000'0000ULL;
};

}  // namespace cupool::simgpu::ptx
