// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "policy/base/result.h"
#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

/// This process's own view of a piece of physical memory: host memory, 2 MiB-aligned, through which kernels and copies reach it.
///
/// One mapping per handle and no descriptor: `memory` is closed once it is mapped. Windows lie in reserved regions, so that neither
/// mapping nor unmapping needs more than one system call. When a window ends, its memory stays mapped until no ReadScope can be
/// using it.
class Window {
 public:
  Window() = default;
  /// Errc::no_memory when the process has no room: too many mappings (vm.max_map_count), said on stderr once.
  static Result<Window> open(const Descriptor& memory, std::uint64_t bytes);

  Window(Window&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Window& operator=(Window&& other) noexcept;
  ~Window() { close(); }

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  void close();

 private:
  Window(std::byte* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace cupool::simgpu
