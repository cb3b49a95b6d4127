// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {

/// Carries out one warp operation for the lanes in `group`, all of which wait at it with the same operation and mask.
///
/// threads[lane] is null for lanes that are not in the group. May leave the kernel through Worker::leave (a bad address of
/// ldmatrix).
void resolve_warp_operation(Worker& worker, abi::sg_thread* const (&threads)[32], std::uint32_t group);

}  // namespace cupool::simgpu::ptx
