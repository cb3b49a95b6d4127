// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cupool::simgpu::ptx {

/// A stretch of device addresses that lies consecutively in host memory, with the rights a kernel has there.
struct Window {
  std::uint64_t begin = 0;    ///< first device address
  std::uint64_t end = 0;      ///< first device address beyond; both are multiples of 4 KiB
  std::byte* host = nullptr;  ///< where `begin` lies in this process
  bool readable = false;
  bool writable = false;
};

/// What lies at, or next to, an address: for the messages of SIMGPU_CHECK=1.
struct BlockReport {
  /// The whole access lies inside one live block that allows it.
  bool inside = false;
  /// "64 bytes past the end of block 0x2000000000000 (4096 bytes)"; empty if nothing is near. Only read when not inside.
  std::string neighbour;
};

/// Device memory as a kernel of one context sees it: the software page table, and nothing else, decides what can be reached.
///
/// Called on the slow path only: compiled kernels remember pages for the length of one launch (256 pages of 4 KiB each way), so a
/// page that is unmapped while a kernel runs must stay backed by host memory until that launch has returned. Implementations are
/// called from several worker threads at once and must not throw.
class Memory {
 public:
  virtual ~Memory() = default;

  /// The window around `address` (the page, or more); nothing when it is not mapped. What lacks both rights is as good as unmapped.
  virtual std::optional<Window> find(std::uint64_t address) = 0;

  /// Whether [address, address + size) lies in one live block; asked for every access when LaunchControl::check is set.
  /// The default knows of no blocks and lets everything pass that find() lets pass.
  virtual BlockReport check(std::uint64_t address, std::uint32_t size, bool write);
};

}  // namespace cupool::simgpu::ptx
