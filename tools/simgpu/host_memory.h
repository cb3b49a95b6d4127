// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

class Context;

/// Host memory that devices can reach, with one address for both sides: allocated here, registered by the program, or managed.

/// Page-locked memory of our own. CUDA_ERROR_OUT_OF_MEMORY when the real machine could not back it.
CUresult allocate_host(Context& context, std::uint64_t bytes, unsigned flags, void*& out);
CUresult free_host(Context* current, void* address);

/// Makes memory of the program reachable: any start and length; whole pages become reachable, as on hardware.
/// CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712) when part of it already is; CUDA_ERROR_INVALID_VALUE when part of it is not
/// mapped.
CUresult register_host(Context& context, void* address, std::uint64_t bytes, unsigned flags);
CUresult unregister_host(Context* current, void* address);

/// Managed memory: charged to a GPU only while it was moved there.
CUresult allocate_managed(Context& context, std::uint64_t bytes, unsigned flags, CUdeviceptr& out);

}  // namespace cupool::simgpu
