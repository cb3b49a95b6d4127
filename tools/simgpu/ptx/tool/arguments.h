// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/syntax/types.h"
#include "tools/simgpu/ptx/tool/block_memory.h"

namespace cupool::simgpu::ptx {

/// A kernel's parameter buffer made from text, and the buffers that it points to.
struct Arguments {
  struct Buffer {
    std::uint64_t address = 0;
    std::size_t count = 0;
    Type type;
  };
  std::vector<std::byte> buffer;
  std::vector<Buffer> buffers;
};

/// From texts such as "u32:7" and "f32[8]=iota"; the failure says which text is wrong and why.
tl::expected<Arguments, std::string> make_arguments(const std::vector<std::string>& texts, const KernelInfo& kernel,
                                                    BlockMemory& memory);

/// Each buffer's contents on a line of standard output.
void print_arguments(const Arguments& arguments, BlockMemory& memory);

}  // namespace cupool::simgpu::ptx
