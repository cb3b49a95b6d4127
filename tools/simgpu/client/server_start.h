// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/base/result.h"
#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

/// Connects to the machine of `directory`, starting its server when there is none.
///
/// The directory is made (mode 0700) and must belong to this user and be closed to others. Of any number of processes that arrive
/// at once, one starts the server. The server is started so that the host program notices nothing: no child to wait for, no
/// SIGCHLD, no atfork handler run, no descriptor or signal mask inherited. Errors carry their reason in `message`.
Result<Descriptor> connect_to_machine(const std::string& directory, std::string& message);

/// Path of the server's program: SIMGPU_SERVER, else `simgpu-server` beside the library that holds this function or one folder
/// above.
std::string server_program();

}  // namespace cupool::simgpu
