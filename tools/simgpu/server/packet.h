// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

/// One packet over a SOCK_SEQPACKET socket, with at most one descriptor. Interrupted calls are repeated; no signal is raised when
/// the other end is gone.

/// False with errno set when the packet could not be sent whole.
bool send_packet(int socket, const void* data, std::size_t bytes, int descriptor = -1);

/// Bytes received, 0 at the end of the connection, -1 with errno set. `descriptor` receives the one that came along, or none.
ssize_t receive_packet(int socket, void* data, std::size_t bytes, Descriptor& descriptor, int flags = 0);

}  // namespace cupool::simgpu
