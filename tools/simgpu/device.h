// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/device_model.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {

/// One GPU as this process sees it. Constant after cuInit.
struct Device {
  int ordinal = 0;        ///< among the visible ones: a CUdevice
  std::uint32_t gpu = 0;  ///< on the machine: what the server and the page table's rights call it
  const DeviceModel* model = nullptr;
  std::uint64_t total = 0;  ///< bytes
  CUuuid uuid{};

  int pci_bus() const { return static_cast<int>(gpu) * 0x10 + 0x1a; }
  std::string pci_id() const;     ///< "0000:1A:00.0"
  std::string uuid_text() const;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
};

/// The devices that CUDA_VISIBLE_DEVICES leaves of a machine, in its order. Null or absent: all. Entries are ordinals or (prefixes
/// of) UUID texts; the list ends at the first entry that names no GPU; an entry named twice leaves nothing, as the driver does it.
std::vector<Device> visible_devices(const protocol::Machine& machine, const char* variable);

/// The value of an attribute, or false when this driver knows no such attribute.
bool device_attribute(const Device& device, CUdevice_attribute attribute, int& value);

}  // namespace cupool::simgpu
