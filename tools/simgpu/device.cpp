// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

namespace cupool::simgpu {
namespace {

// An entry of CUDA_VISIBLE_DEVICES: an ordinal, or a UUID text of which a prefix that only one GPU has is enough.
int gpu_named(std::string_view entry, const std::vector<Device>& all) {
  while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
  while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
  if (entry.substr(0, 4) == "GPU-") {
    int found = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].uuid_text().compare(0, entry.size(), entry) != 0) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(i);
    }
    return found;
  }
  if (entry.empty() || entry.find_first_not_of("0123456789") != std::string_view::npos || entry.size() > 3) return -1;
  const int ordinal = std::atoi(std::string(entry).c_str());
  return ordinal < static_cast<int>(all.size()) ? ordinal : -1;
}

std::vector<Device> all_devices(const protocol::Machine& machine) {
  std::vector<Device> all;
  for (std::uint32_t gpu = 0; gpu < machine.gpu_count; ++gpu) {
    const protocol::Gpu& source = machine.gpus[gpu];
    Device device;
    device.gpu = gpu;
    device.model = find_model(source.model);
    if (device.model == nullptr) device.model = &default_model();
    device.total = source.total;
    std::memcpy(device.uuid.bytes, source.uuid, sizeof device.uuid.bytes);
    all.push_back(device);
  }
  return all;
}

}  // namespace

std::string Device::pci_id() const {
  char text[24];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned>(pci_bus()));
  return text;
}

std::string Device::uuid_text() const {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

std::vector<Device> visible_devices(const protocol::Machine& machine, const char* variable) {
  std::vector<Device> all = all_devices(machine);
  std::vector<Device> visible;
  if (variable == nullptr) {
    visible = std::move(all);
  } else {
    std::set<int> named;
    std::string_view rest = variable;
    while (true) {
      const std::size_t comma = rest.find(',');
      const int gpu = gpu_named(rest.substr(0, comma), all);
      if (gpu < 0) break;
      if (!named.insert(gpu).second) return {};
      visible.push_back(all[static_cast<std::size_t>(gpu)]);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  for (std::size_t i = 0; i < visible.size(); ++i) visible[i].ordinal = static_cast<int>(i);
  return visible;
}

}  // namespace cupool::simgpu
