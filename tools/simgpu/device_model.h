// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cupool::simgpu {

/// What a named GPU model is like. Every figure's source stands beside it in device_model.cpp.
struct DeviceModel {
  const char* key;   ///< as SIMGPU_GPUS names it
  const char* name;  ///< as cuDeviceGetName answers
  int major;
  int minor;
  std::uint64_t total_bytes;     ///< cuDeviceTotalMem
  std::uint64_t reserved_bytes;  ///< held back by driver and firmware: what NVML calls reserved and CUDA does not show
  std::uint64_t context_bytes;   ///< charged per context and process
  int multiprocessors;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  int registers_per_multiprocessor;
  int shared_per_block;
  int shared_per_block_optin;
  int shared_per_multiprocessor;
  int l2_bytes;
  int persisting_l2_bytes;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int copy_engines;
  int single_to_double;  ///< how many times slower double precision is
  int pci_device_id;
  bool integrated;  ///< unified memory: host and device share one
  bool ecc;
  bool virtual_memory;  ///< cuMemCreate and friends
  bool fabric_handles;
  bool gpu_direct_rdma;
  bool concurrent_managed;
  bool memory_pools;
  bool cooperative_launch;
  bool multicast;
  double device_gbps;  ///< memory bandwidth, 10^9 bytes per second
  double host_gbps;    ///< one direction of the link to the host
  double peer_gbps;    ///< one direction to a neighbour
};

/// Null for an unknown key. The first model is the default.
const DeviceModel* find_model(std::string_view key);
const DeviceModel& default_model();
/// "h200, a100, rtx4090, orin", for messages.
const char* model_keys();

}  // namespace cupool::simgpu
