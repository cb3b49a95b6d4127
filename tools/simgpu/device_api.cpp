// SPDX-License-Identifier: Apache-2.0
//
// Entry points: start, version, devices and what they are like.
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/peer.h"

using namespace cupool::simgpu;

namespace {

int attribute_of(const Device& device, CUdevice_attribute attribute) {
  int value = 0;
  device_attribute(device, attribute, value);
  return value;
}

CUresult copy_name(const std::string& name, char* out, int length) {
  if (out == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(out, static_cast<std::size_t>(length), "%s", name.c_str());
  return CUDA_SUCCESS;
}

CUresult get_uuid(EntryId id, CUuuid* uuid, CUdevice ordinal) {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *uuid = device->uuid;
        return CUDA_SUCCESS;
      },
      uuid, ordinal);
}

// "domain:bus:device.function", "domain:bus:device" or "bus:device.function", hexadecimal.
bool parse_pci_id(const char* text, unsigned& bus) {
  unsigned domain = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) >= 3) return domain == 0 && device == 0 && function == 0;
  return std::sscanf(text, "%x:%x.%x", &bus, &device, &function) == 3 && device == 0 && function == 0;
}

}  // namespace

CUresult cuInit(unsigned int flags) {
  return enter(
      EntryId::cuInit, Needs::nothing,
      [&](Call&) -> CUresult { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : driver().initialise(); }, flags);
}

CUresult cuDriverGetVersion(int* version) {
  return enter(
      EntryId::cuDriverGetVersion, Needs::nothing,
      [&](Call&) -> CUresult {
        if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *version = driver_version();
        return CUDA_SUCCESS;
      },
      version);
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  return enter(
      EntryId::cuDeviceGet, Needs::init,
      [&](Call&) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *out = ordinal;
        return CUDA_SUCCESS;
      },
      out, ordinal);
}

CUresult cuDeviceGetCount(int* count) {
  return enter(
      EntryId::cuDeviceGetCount, Needs::init,
      [&](Call&) -> CUresult {
        if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *count = driver().device_count();
        return CUDA_SUCCESS;
      },
      count);
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetName, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : copy_name(device->model->name, name, length);
      },
      name, length, ordinal);
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return get_uuid(EntryId::cuDeviceGetUuid, uuid, ordinal);
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return get_uuid(EntryId::cuDeviceGetUuid_v2, uuid, ordinal);
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetAttribute, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        return device_attribute(*device, attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      },
      value, attribute, ordinal);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceTotalMem_v2, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *bytes = device->total;
        return CUDA_SUCCESS;
      },
      bytes, ordinal);
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetExecAffinitySupport, Needs::init,
      [&](Call&) -> CUresult {
        if (supported == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
        if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *supported = 0;  // needs the multi-process service
        return CUDA_SUCCESS;
      },
      supported, type, ordinal);
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope) {
  return enter(
      EntryId::cuFlushGPUDirectRDMAWrites, Needs::context,
      [&](Call& call) -> CUresult {
        return call.context->device().model->gpu_direct_rdma ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
      },
      target, scope);
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetProperties, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        properties->maxThreadsPerBlock = attribute_of(*device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        for (int axis = 0; axis < 3; ++axis) {
          properties->maxThreadsDim[axis] =
              attribute_of(*device, static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis));
          properties->maxGridSize[axis] =
              attribute_of(*device, static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis));
        }
        properties->sharedMemPerBlock = device->model->shared_per_block;
        properties->totalConstantMemory = attribute_of(*device, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
        properties->SIMDWidth = attribute_of(*device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
        properties->memPitch = attribute_of(*device, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
        properties->regsPerBlock = attribute_of(*device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
        properties->clockRate = device->model->clock_khz;
        properties->textureAlign = attribute_of(*device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
        return CUDA_SUCCESS;
      },
      properties, ordinal);
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceComputeCapability, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *major = device->model->major;
        *minor = device->model->minor;
        return CUDA_SUCCESS;
      },
      major, minor, ordinal);
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* pci_id) {
  return enter(
      EntryId::cuDeviceGetByPCIBusId, Needs::init,
      [&](Call&) -> CUresult {
        unsigned bus = 0;
        if (out == nullptr || pci_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (!parse_pci_id(pci_id, bus)) return CUDA_ERROR_INVALID_VALUE;
        for (int ordinal = 0; ordinal < driver().device_count(); ++ordinal) {
          if (driver().device(ordinal)->pci_bus() != static_cast<int>(bus)) continue;
          *out = ordinal;
          return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
      },
      out, pci_id);
}

CUresult cuDeviceGetPCIBusId(char* pci_id, int length, CUdevice ordinal) {
  return enter(
      EntryId::cuDeviceGetPCIBusId, Needs::init,
      [&](Call&) -> CUresult {
        const Device* device = driver().device(ordinal);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : copy_name(device->pci_id(), pci_id, length);
      },
      pci_id, length, ordinal);
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
  return enter(
      EntryId::cuDeviceCanAccessPeer, Needs::init,
      [&](Call&) -> CUresult {
        const Device* a = driver().device(ordinal);
        const Device* b = driver().device(peer);
        if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (a == nullptr || b == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *can = are_peers(*a, *b) ? 1 : 0;
        return CUDA_SUCCESS;
      },
      can, ordinal, peer);
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  return enter(
      EntryId::cuDeviceGetP2PAttribute, Needs::init,
      [&](Call&) -> CUresult {
        const Device* a = driver().device(source);
        const Device* b = driver().device(destination);
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (a == nullptr || b == nullptr || a == b) return CUDA_ERROR_INVALID_DEVICE;
        switch (static_cast<int>(attribute)) {
          case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
            *value = 0;
            return CUDA_SUCCESS;
          case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
          case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
          case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
            *value = are_peers(*a, *b) ? 1 : 0;
            return CUDA_SUCCESS;
          case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
            *value = 0;
            return CUDA_SUCCESS;
          default:
            return CUDA_ERROR_INVALID_VALUE;
        }
      },
      value, attribute, source, destination);
}
