// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/abi/driver_api.h"

namespace cupool::simgpu::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Initialises the driver and makes device 0's primary context current; ends the process with the code when that fails.
void start_driver();

/// Ends the process with a line on stderr when a call failed.
void must(CUresult code, const char* what);

std::uint64_t free_memory();
CUmemAllocationProp device_memory(CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE);

}  // namespace cupool::simgpu::test
