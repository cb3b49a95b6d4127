// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

class Context;

/// What the driver knows about an address. Answers per kind of memory follow the cuda-surface sheet, section 1.13: stream-ordered
/// and virtual memory belong to no context, a reserved range answers for itself even where nothing is mapped.

/// cuPointerGetAttribute. CUDA_ERROR_INVALID_VALUE where the attribute does not apply; `data` is untouched then.
CUresult pointer_attribute(const Context& current, CUpointer_attribute attribute, CUdeviceptr address, void* data);

/// Fills what the plural form answers where the attribute does not apply, or for an address the driver does not know.
CUresult default_pointer_attribute(CUpointer_attribute attribute, void* data);

/// cuMemGetAddressRange. CUDA_ERROR_NOT_FOUND for an unknown address and for managed memory.
CUresult address_range(CUdeviceptr address, CUdeviceptr& base, std::size_t& size);

}  // namespace cupool::simgpu
