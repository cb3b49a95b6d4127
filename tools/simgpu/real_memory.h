// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cupool::simgpu {

/// Bytes that the real machine can still give (MemAvailable of an open /proc/meminfo); the largest number when that cannot be read.
std::uint64_t real_memory_available(int meminfo);

/// The same, opening the file for one look.
std::uint64_t real_memory_available();

}  // namespace cupool::simgpu
