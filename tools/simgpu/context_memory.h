// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cupool::simgpu {

class Context;
struct Device;

/// What the driver itself takes for one context: the model's figure, or SIMGPU_CONTEXT_MEMORY (a size; 0 for none).
std::uint64_t context_overhead_bytes(const Device& device);

/// Frees everything that a context owns: linear, host and managed memory, what it opened from other processes.
void free_context_memory(Context& context);

}  // namespace cupool::simgpu
