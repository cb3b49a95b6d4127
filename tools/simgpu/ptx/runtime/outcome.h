// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/simgpu/ptx/runtime/launch.h"
#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {

/// What can only be said while the worker still stands in the block that faulted: texts of an assertion, the neighbour of an
/// address.
std::string describe_detail(Worker& worker);

/// The launch's outcome with its sentence.
Outcome describe(const CompiledKernel& kernel, LaunchState& state);

}  // namespace cupool::simgpu::ptx
