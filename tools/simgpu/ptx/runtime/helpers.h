// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/simgpu/ptx/runtime/abi_types.h"

// What generated code calls, by family. Each has the contract of its name in abi.h.
namespace cupool::simgpu::ptx {

#define SG_DECLARE(result, name, arguments) result name arguments;
namespace abi {
namespace helper {
SG_HELPERS(SG_DECLARE)
}  // namespace helper
}  // namespace abi
#undef SG_DECLARE

}  // namespace cupool::simgpu::ptx
