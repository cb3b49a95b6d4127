// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/cost.h"
#include "tools/simgpu/page_table.h"

namespace cupool::simgpu {

class Context;

/// One end of a copy: a box of bytes in memory.
struct CopySide {
  enum class Space {
    host,     ///< ordinary memory of this process
    device,   ///< an address that the device must be able to reach
    unified,  ///< whichever of the two the address is
  };
  Space space = Space::unified;
  std::uint64_t address = 0;   ///< of the first byte of the box
  std::uint64_t pitch = 0;     ///< bytes from one row to the next
  std::uint64_t layer = 0;     ///< bytes from one layer to the next
  Context* context = nullptr;  ///< whose device reaches it
};

/// A copy of width x height x depth bytes, rows and layers, between any two sides. Every form of cuMemcpy comes down to this.
struct CopyJob {
  CopySide from;
  CopySide to;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  /// The source as it was when the call was made: what the driver does with pageable memory. Empty: read when the copy runs.
  std::shared_ptr<const std::vector<std::byte>> staged;
  /// A device address that belonged to nothing when the copy was handed in: it ends in a fault, even if its page is mapped for others.
  bool is_stray = false;

  std::uint64_t bytes() const { return width * height * depth; }
};

CopyJob flat_copy(CopySide::Space to_space, std::uint64_t to, CopySide::Space from_space, std::uint64_t from, std::uint64_t bytes,
                  Context& context);
/// CUDA_ERROR_INVALID_VALUE for a shape that the driver refuses, CUDA_ERROR_NOT_SUPPORTED for arrays.
CUresult job_of(const CUDA_MEMCPY2D& shape, Context& context, CopyJob& job);
CUresult job_of(const CUDA_MEMCPY3D& shape, Context& context, CopyJob& job);
CUresult job_of(const CUDA_MEMCPY3D_PEER& shape, Context& context, CopyJob& job);

/// True for memory of this process that no device reaches: neither pinned, registered nor managed.
bool is_pageable(const CopySide& side);
bool is_device_side(const CopySide& side);
CopyPath path_of(const CopyJob& job);

/// How a stretch of device addresses stands to what is allocated there.
enum class Reach {
  inside,      ///< in one block, in mapped virtual memory, or not a device address at all
  beyond_end,  ///< begins in a block and ends outside: the driver refuses the call
  stray,       ///< begins in nothing that lives
};
Reach reach_of(std::uint64_t address, std::uint64_t bytes);
/// Of the whole box of bytes.
Reach reach_of(const CopySide& side, const CopyJob& job);

/// Reads a pageable source now, so that the program may change it as soon as the call returns.
void stage_source(CopyJob& job);

/// Moves the bytes. CUDA_ERROR_ILLEGAL_ADDRESS (700) at the first page that is not mapped or lacks the right.
CUresult perform(const CopyJob& job);

/// Fills rows of `width` elements of 1, 2 or 4 bytes; the pitch is in bytes and unused for a single row.
CUresult perform_set(const CUDA_MEMSET_NODE_PARAMS& set, Context& context);

}  // namespace cupool::simgpu
