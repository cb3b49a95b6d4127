// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace cupool::simgpu::ptx {

/// Runs the job on the one thread of this process that waits for slow compilers, after those given before. The thread is started
/// with the first job, takes no signals, and is not waited for when the process ends.
void run_in_background(std::function<void()> job);

}  // namespace cupool::simgpu::ptx
