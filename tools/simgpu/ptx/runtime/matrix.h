// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/simgpu/ptx/runtime/abi_types.h"

namespace cupool::simgpu::ptx {

/// One mma.sync of a warp: fragments from threads[lane]->in, results to ->out. Layouts: PTX ISA, "Matrix Fragments for mma".
///
/// Products of halves are exact, sums are kept in double precision in the order of k, starting from the accumulator, and are
/// rounded once: within the freedom that the ISA leaves, and independent of the host's compiler.
void multiply_matrices(abi::sg_thread* const (&threads)[32], std::uint32_t op);

/// movmatrix.m8n8.trans.b16 of in[1].
void transpose_matrix(abi::sg_thread* const (&threads)[32]);

}  // namespace cupool::simgpu::ptx
