// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/device.h"

namespace cupool::simgpu {

/// A device's attribute, or `otherwise` where its model does not say (or says zero).
inline int device_value(const Device& device, CUdevice_attribute attribute, int otherwise) {
  int value = 0;
  return device_attribute(device, attribute, value) && value > 0 ? value : otherwise;
}

}  // namespace cupool::simgpu
