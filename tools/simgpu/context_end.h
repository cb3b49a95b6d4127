// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/context.h"

namespace cupool::simgpu {

/// cuCtxDetach of the thread's current context: one attachment less; a primary context is released, a created one destroyed by the
/// last.
CUresult detach_current(Context& context);

/// cuDevicePrimaryCtxRelease: one retain less; the last one ends the context. CUDA_ERROR_INVALID_CONTEXT when it is not retained.
CUresult release_primary(const Device& device);

}  // namespace cupool::simgpu
