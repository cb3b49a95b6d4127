// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device_model.h"

#include <array>

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Sources, by letter:
//  C  CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability" (threads, blocks, registers, shared
//  memory) D  the vendor's data sheet of the product (memory, bandwidth, multiprocessors, clocks, link) Q  figures that deviceQuery
//  and nvidia-smi print on such a device, as published by users; no device was at hand to read them E  an estimate of ours, to be
//  replaced by a measurement
constexpr std::array<DeviceModel, 4> kModels{{
    {.key = "h200",
     .name = "NVIDIA H200",
     .major = 9,
     .minor = 0,                             // C
     .total_bytes = 143156 * kMiB,           // Q 139.8 GiB visible of 141 GB (D)
     .reserved_bytes = 615 * kMiB,           // Q nvidia-smi shows 143771 MiB
     .context_bytes = 518 * kMiB,            // Q H100 class, CUDA 12: 510-530 MiB for an empty context
     .multiprocessors = 132,                 // D
     .threads_per_multiprocessor = 2048,     // C
     .blocks_per_multiprocessor = 32,        // C
     .registers_per_multiprocessor = 65536,  // C
     .shared_per_block = 49152,              // C
     .shared_per_block_optin = 232448,       // C 227 KiB
     .shared_per_multiprocessor = 233472,    // C 228 KiB
     .l2_bytes = 62914560,                   // Q 60 MiB
     .persisting_l2_bytes = 39321600,        // Q 5/8 of L2
     .clock_khz = 1980000,                   // D
     .memory_clock_khz = 3201000,            // Q
     .memory_bus_bits = 6144,                // D six stacks of HBM3e
     .copy_engines = 3,                      // Q
     .single_to_double = 2,                  // D 67 and 34 TFLOPS
     .pci_device_id = 0x233510de,            // Q PCI id list: GH100 [H200 SXM 141GB]
     .integrated = false,
     .ecc = true,
     .virtual_memory = true,
     .fabric_handles = true,
     .gpu_direct_rdma = true,
     .concurrent_managed = true,
     .memory_pools = true,
     .cooperative_launch = true,
     .multicast = false,   // multicast needs an NVLink switch domain
     .device_gbps = 4800,  // D
     .host_gbps = 55,      // D PCIe 5 x16, 64 raw; Q 55 reached
     .peer_gbps = 450},    // D NVLink 4, 900 both directions
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .major = 8,
     .minor = 0,                             // C
     .total_bytes = 81154 * kMiB,            // Q 79.25 GiB
     .reserved_bytes = 766 * kMiB,           // Q nvidia-smi shows 81920 MiB
     .context_bytes = 412 * kMiB,            // Q 400-420 MiB
     .multiprocessors = 108,                 // D
     .threads_per_multiprocessor = 2048,     // C
     .blocks_per_multiprocessor = 32,        // C
     .registers_per_multiprocessor = 65536,  // C
     .shared_per_block = 49152,              // C
     .shared_per_block_optin = 166912,       // C 163 KiB
     .shared_per_multiprocessor = 167936,    // C 164 KiB
     .l2_bytes = 41943040,                   // D 40 MiB
     .persisting_l2_bytes = 26214400,        // Q 5/8 of L2
     .clock_khz = 1410000,                   // D
     .memory_clock_khz = 1593000,            // Q
     .memory_bus_bits = 5120,                // D
     .copy_engines = 3,                      // Q
     .single_to_double = 2,                  // D 19.5 and 9.7 TFLOPS
     .pci_device_id = 0x20b210de,            // Q PCI id list: GA100 [A100 SXM4 80GB]
     .integrated = false,
     .ecc = true,
     .virtual_memory = true,
     .fabric_handles = false,
     .gpu_direct_rdma = true,
     .concurrent_managed = true,
     .memory_pools = true,
     .cooperative_launch = true,
     .multicast = false,
     .device_gbps = 2039,  // D
     .host_gbps = 25,      // D PCIe 4 x16, 32 raw; Q 25 reached
     .peer_gbps = 300},    // D NVLink 3, 600 both directions
    {.key = "rtx4090",
     .name = "NVIDIA GeForce RTX 4090",
     .major = 8,
     .minor = 9,                             // C
     .total_bytes = 24080 * kMiB,            // Q 23.5 GiB
     .reserved_bytes = 484 * kMiB,           // Q nvidia-smi shows 24564 MiB
     .context_bytes = 356 * kMiB,            // Q 340-370 MiB
     .multiprocessors = 128,                 // D
     .threads_per_multiprocessor = 1536,     // C
     .blocks_per_multiprocessor = 24,        // C
     .registers_per_multiprocessor = 65536,  // C
     .shared_per_block = 49152,              // C
     .shared_per_block_optin = 101376,       // C 99 KiB
     .shared_per_multiprocessor = 102400,    // C 100 KiB
     .l2_bytes = 75497472,                   // D 72 MiB
     .persisting_l2_bytes = 51904512,        // Q
     .clock_khz = 2520000,                   // D
     .memory_clock_khz = 10501000,           // D 21 Gbit/s per pin
     .memory_bus_bits = 384,                 // D
     .copy_engines = 2,                      // Q
     .single_to_double = 64,                 // D
     .pci_device_id = 0x268410de,            // Q PCI id list: AD102 [GeForce RTX 4090]
     .integrated = false,
     .ecc = false,
     .virtual_memory = true,
     .fabric_handles = false,
     .gpu_direct_rdma = false,
     .concurrent_managed = true,
     .memory_pools = true,
     .cooperative_launch = true,
     .multicast = false,
     .device_gbps = 1008,  // D
     .host_gbps = 25,      // D PCIe 4 x16
     .peer_gbps = 20},     // E through the host: no NVLink, no peer access
    {.key = "orin",
     .name = "Orin",
     .major = 8,
     .minor = 7,                   // C
     .total_bytes = 30536 * kMiB,  // Q 29.8 GiB of 32 (Jetson AGX Orin 32GB)
     .reserved_bytes = 0,
     .context_bytes = 112 * kMiB,            // E
     .multiprocessors = 14,                  // D 1792 cores
     .threads_per_multiprocessor = 1536,     // C
     .blocks_per_multiprocessor = 16,        // C
     .registers_per_multiprocessor = 65536,  // C
     .shared_per_block = 49152,              // C
     .shared_per_block_optin = 166912,       // C 163 KiB
     .shared_per_multiprocessor = 167936,    // C 164 KiB
     .l2_bytes = 4194304,                    // D 4 MiB
     .persisting_l2_bytes = 2752512,         // Q
     .clock_khz = 930000,                    // D
     .memory_clock_khz = 3200000,            // D LPDDR5
     .memory_bus_bits = 256,                 // D
     .copy_engines = 2,                      // Q
     .single_to_double = 32,                 // Q deviceQuery
     .pci_device_id = 0,                     // on the chip, not on PCI
     .integrated = true,
     .ecc = false,
     .virtual_memory = true,
     .fabric_handles = false,
     .gpu_direct_rdma = false,
     .concurrent_managed = false,
     .memory_pools = true,
     .cooperative_launch = true,
     .multicast = false,
     .device_gbps = 204.8,  // D
     .host_gbps = 204.8,    // one memory
     .peer_gbps = 0},
}};

}  // namespace

const DeviceModel* find_model(std::string_view key) {
  for (const DeviceModel& model : kModels) {
    if (key == model.key) return &model;
  }
  return nullptr;
}

const DeviceModel& default_model() {
  return kModels.front();
}

const char* model_keys() {
  return "h200, a100, rtx4090, orin";
}

}  // namespace cupool::simgpu
