// SPDX-License-Identifier: Apache-2.0
//
// The life of contexts: one that ends takes its memory with it, and so do our books.
#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"
#include "shim/serving.h"

namespace cupool {
namespace {

using shim::process;

bool is_active(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  return driver::cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

/// The primary context of a device that has one, without making one.
CUcontext primary_context(CUdevice device) {
  CUcontext context = nullptr;
  if (!is_active(device) || driver::cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return nullptr;
  driver::cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

/// Drops what the device's primary context holds, while it still lives.
void end_primary(CUdevice device) {
  if (!process().is_governed()) return;
  if (const CUcontext context = primary_context(device)) shim::end_blocks_of(context);
}

template <class Call>
CUresult release_primary(CUdevice device, const Call& call) {
  if (process().is_last_primary_retain(device)) end_primary(device);
  const CUresult code = call();
  if (code == CUDA_SUCCESS) process().primary_released(device);
  return code;
}

}  // namespace

CUresult hook::cuCtxDestroy_v2(CUcontext context) {
  if (process().is_governed() && context != nullptr) shim::end_blocks_of(context);
  return driver::cuCtxDestroy_v2(context);
}
CUresult hook::cuCtxDestroy(CUcontext context) {
  if (process().is_governed() && context != nullptr) shim::end_blocks_of(context);
  return driver::cuCtxDestroy(context);
}
CUresult hook::cuCtxDetach(CUcontext context) {
  const CUresult code = driver::cuCtxDetach(context);
  unsigned version = 0;
  // Whether that was the last reference, the driver alone knows: a context that has ended answers no more.
  if (code == CUDA_SUCCESS && process().is_governed() && driver::cuCtxGetApiVersion(context, &version) != CUDA_SUCCESS)
    shim::end_blocks_of(context);
  return code;
}
CUresult hook::cuCtxAttach(CUcontext* context, unsigned int flags) {
  return driver::cuCtxAttach(context, flags);
}

CUresult hook::cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return driver::cuCtxCreate(context, flags, device);
}
CUresult hook::cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return driver::cuCtxCreate_v2(context, flags, device);
}
CUresult hook::cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count, unsigned int flags, CUdevice device) {
  return driver::cuCtxCreate_v3(context, affinity, count, flags, device);
}
CUresult hook::cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags, CUdevice device) {
  return driver::cuCtxCreate_v4(context, parameters, flags, device);
}

CUresult hook::cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult code = driver::cuDevicePrimaryCtxRetain(context, device);
  if (code == CUDA_SUCCESS) process().primary_retained(device);
  return code;
}
CUresult hook::cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary(device, [&] { return driver::cuDevicePrimaryCtxRelease(device); });
}
CUresult hook::cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary(device, [&] { return driver::cuDevicePrimaryCtxRelease_v2(device); });
}
CUresult hook::cuDevicePrimaryCtxReset(CUdevice device) {
  end_primary(device);
  return driver::cuDevicePrimaryCtxReset(device);
}
CUresult hook::cuDevicePrimaryCtxReset_v2(CUdevice device) {
  end_primary(device);
  return driver::cuDevicePrimaryCtxReset_v2(device);
}

}  // namespace cupool
