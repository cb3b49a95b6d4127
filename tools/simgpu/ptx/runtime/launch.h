// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/runtime/abi_types.h"
#include "tools/simgpu/ptx/translate/translate.h"

namespace cupool::simgpu::ptx {

/// What run_kernel() needs to know of a compiled kernel.
struct CompiledKernel {
  const KernelPlan& plan;
  const abi::sg_kernel& code;
  std::span<const std::uint64_t> globals;
  std::string_view source;  ///< the PTX text, to show the instruction that faulted; empty if several texts were linked
};

/// Runs the whole grid and returns when it has ended. Thread-safe.
Outcome run_kernel(const CompiledKernel& kernel, const Launch& launch, Memory& memory, const LaunchControl& control);

}  // namespace cupool::simgpu::ptx
