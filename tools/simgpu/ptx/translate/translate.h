// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "tools/simgpu/ptx/program.h"

namespace cupool::simgpu::ptx {

/// What a program needs to know of a kernel beyond its public attributes.
struct KernelPlan {
  KernelInfo info;
  bool ordered = false;    ///< blocks run in order on one worker, since another order could change the result
  bool resumable = false;  ///< has sg_kernel::step
  std::uint32_t dynamic_shared_offset = 0;
  std::vector<std::uint32_t> shared_offsets;  ///< by shared variable of the program
};

struct Translation {
  std::string source;               ///< complete C
  std::vector<KernelPlan> kernels;  ///< in the order of sg_module::kernels
  std::vector<GlobalInfo> globals;
};

/// Reads, links, checks and translates PTX texts that make one program. Pure: no file, no process; the same texts give the same C.
tl::expected<Translation, LoadFailure> translate(std::span<const std::string_view> sources);

}  // namespace cupool::simgpu::ptx
