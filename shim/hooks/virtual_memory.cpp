// SPDX-License-Identifier: Apache-2.0
//
// Physical memory that the program creates and maps by itself: the driver's, charged to the job where it lies on a device.
#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

using shim::process;

/// The device that memory of these properties lies on; null for host memory and where no policy governs.
shim::Device* charged_device(const CUmemAllocationProp* properties) {
  if (!process().is_governed() || properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return nullptr;
  return process().device(properties->location.id);
}

void credit(const shim::OwnMemory::Ended& ended) {
  process().pool().credit(ended.device, pool::BesideKind::own_vmm, ended.bytes);
  if (shim::Device* device = process().device_if_open(static_cast<CUdevice>(ended.device.index))) process().tell_account(*device);
}

}  // namespace

CUresult hook::cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                           unsigned long long flags) {
  shim::Process& self = process();
  const bool on_device = properties != nullptr && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (self.is_closed() && on_device) return self.refusals().tell_closed("cuMemCreate", Bytes{size}, self.governor().reason());
  shim::Device* device = handle == nullptr ? nullptr : charged_device(properties);
  if (device == nullptr) return driver::cuMemCreate(handle, size, properties, flags);
  if (!device->fault().empty()) return self.refusals().tell_closed("cuMemCreate", Bytes{size}, device->fault());
  if (const auto charged = self.pool().charge(device->id(), pool::BesideKind::own_vmm, Bytes{size}); !charged) {
    return self.refusals().tell(*device, "cuMemCreate", charged.error());
  }
  const CUresult code = driver::cuMemCreate(handle, size, properties, flags);
  if (code == CUDA_SUCCESS)
    self.own_memory().created(*handle, device->id(), Bytes{size});
  else
    self.pool().credit(device->id(), pool::BesideKind::own_vmm, Bytes{size});
  self.tell_account(*device);
  return code;
}

CUresult hook::cuMemRelease(CUmemGenericAllocationHandle handle) {
  const CUresult code = driver::cuMemRelease(handle);
  if (code != CUDA_SUCCESS) return code;
  if (const auto ended = process().own_memory().released(handle)) credit(*ended);
  return code;
}

CUresult hook::cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                        unsigned long long flags) {
  const CUresult code = driver::cuMemMap(address, size, offset, handle, flags);
  if (code == CUDA_SUCCESS) process().own_memory().mapped(address, size, handle);
  return code;
}

CUresult hook::cuMemUnmap(CUdeviceptr address, size_t size) {
  const CUresult code = driver::cuMemUnmap(address, size);
  if (code != CUDA_SUCCESS) return code;
  for (const shim::OwnMemory::Ended& ended : process().own_memory().unmapped(address, size)) credit(ended);
  return code;
}

CUresult hook::cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  // A block of the pool looks like memory from cuMemAlloc, which has no handle; its unit's handle would hand out the neighbours.
  if (process().is_governed() && process().is_pool_address(reinterpret_cast<CUdeviceptr>(address))) return CUDA_ERROR_INVALID_VALUE;
  const CUresult code = driver::cuMemRetainAllocationHandle(handle, address);
  if (code == CUDA_SUCCESS) process().own_memory().retained(*handle);
  return code;
}

CUresult hook::cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                              CUmemAllocationHandleType type) {
  const CUresult code = driver::cuMemImportFromShareableHandle(handle, shareable, type);
  // Memory of another process is charged there; what this process exported to itself comes back under a known handle.
  if (code == CUDA_SUCCESS) process().own_memory().retained(*handle);
  return code;
}

}  // namespace cupool
