// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/device.h"

namespace cupool::simgpu {

/// Whether a device can reach the memory of another: two of one model with a link of their own. Not of itself.
inline bool are_peers(const Device& a, const Device& b) {
  return a.gpu != b.gpu && a.model == b.model && a.model->peer_gbps >= 100;
}

}  // namespace cupool::simgpu
