// SPDX-License-Identifier: Apache-2.0
//
// What a handle may be like, and how its properties travel.
#include "tools/simgpu/driver.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {
namespace {

// Layout of the word: one byte each, usage in two.
constexpr unsigned kTypesShift = 8;
constexpr unsigned kLocationShift = 16;
constexpr unsigned kRdmaShift = 24;
constexpr unsigned kUsageShift = 32;

}  // namespace

std::uint64_t packed(const CUmemAllocationProp& properties, std::uint32_t) {
  return static_cast<std::uint64_t>(properties.type) | static_cast<std::uint64_t>(properties.requestedHandleTypes) << kTypesShift |
         static_cast<std::uint64_t>(properties.location.type) << kLocationShift |
         static_cast<std::uint64_t>(properties.allocFlags.gpuDirectRDMACapable) << kRdmaShift |
         static_cast<std::uint64_t>(properties.allocFlags.usage) << kUsageShift;
}

bool unpacked(std::uint64_t word, std::uint32_t gpu, CUmemAllocationProp& properties) {
  properties = {};
  properties.type = static_cast<CUmemAllocationType>(word & 0xff);
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>((word >> kTypesShift) & 0xff);
  properties.location.type = static_cast<CUmemLocationType>((word >> kLocationShift) & 0xff);
  properties.allocFlags.gpuDirectRDMACapable = static_cast<unsigned char>((word >> kRdmaShift) & 0xff);
  properties.allocFlags.usage = static_cast<unsigned short>((word >> kUsageShift) & 0xffff);
  if (is_host_location(properties.location.type)) return true;
  const Device* device = driver().device_of_gpu(gpu);
  properties.location.id = device == nullptr ? -1 : device->ordinal;
  return device != nullptr;
}

CUresult check_properties(const CUmemAllocationProp& properties, std::uint32_t& gpu) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const Device* device = driver().device(0);
  if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    device = driver().device(properties.location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  } else if (!is_host_location(properties.location.type)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!device->model->virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
  gpu = device->gpu;
  const auto types = static_cast<unsigned>(properties.requestedHandleTypes);
  constexpr unsigned kKnown = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT |
                              CU_MEM_HANDLE_TYPE_FABRIC;
  if ((types & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((types & (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  // No fabric service runs on the simulated machine: what a device with the hardware and without the service answers.
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0)
    return device->model->fabric_handles ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_SUPPORTED;
  if (properties.allocFlags.gpuDirectRDMACapable != 0 && !device->model->gpu_direct_rdma) return CUDA_ERROR_NOT_SUPPORTED;
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
