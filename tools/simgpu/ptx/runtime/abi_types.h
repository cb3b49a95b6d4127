// SPDX-License-Identifier: Apache-2.0
#pragma once

// abi.h is C for every compiler; here its names stay out of the way of the C++ around it.
namespace cupool::simgpu::ptx::abi {
#include "tools/simgpu/ptx/runtime/abi.h"
}  // namespace cupool::simgpu::ptx::abi
