// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tools/simgpu/module/code.h"
#include "tools/simgpu/module/jit_options.h"

namespace cupool::simgpu {

/// load_code() with the program's options: logs and wall time are written where it asked for them.
CUresult load_with_options(const void* image, const JitOptions& options, std::shared_ptr<const Code>& code);

}  // namespace cupool::simgpu
