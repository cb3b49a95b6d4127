// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/ptx/compile/compiler.h"

namespace cupool::simgpu {

/// The compiler that programs are given here: it asks the machine's server, so that the host program gets no child processes.
/// Never destroyed: programs recompile in the background until the process ends.
ptx::Compiler& server_compiler();

}  // namespace cupool::simgpu
