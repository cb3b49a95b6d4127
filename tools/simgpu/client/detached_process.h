// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cupool::simgpu {

/// Starts `program` so that this process notices nothing of it: the new process belongs to init, has its own session, none of this
/// process's descriptors but `passed` (which it sees as number 3), null standard streams and default signals.
///
/// False with the reason in `message`. Blocks until the program has been executed.
bool start_detached(const std::vector<std::string>& command, const std::vector<std::string>& environment, int passed,
                    std::string& message);

}  // namespace cupool::simgpu
