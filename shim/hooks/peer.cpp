// SPDX-License-Identifier: Apache-2.0
//
// Peer access. The driver opens cuMemAlloc memory to the peer, past and future; virtual memory it leaves alone, so we open the
// pool's.
#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

/// The device of a context, by making it current for a moment.
CUdevice device_of(CUcontext context) {
  CUcontext popped = nullptr;
  CUdevice device = -1;
  if (driver::cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return -1;
  if (driver::cuCtxGetDevice(&device) != CUDA_SUCCESS) device = -1;
  driver::cuCtxPopCurrent_v2(&popped);
  return device;
}

/// The current device may use the peer's memory from now on, or no more.
void change_access(CUcontext peer, bool open) {
  CUdevice here = -1;
  const CUdevice there = device_of(peer);
  if (there < 0 || driver::cuCtxGetDevice(&here) != CUDA_SUCCESS || here == there) return;
  shim::Device* device = shim::process().device(there);
  if (device == nullptr || !device->is_pooled()) return;
  if (open)
    device->backing().add_peer(here);
  else
    device->backing().remove_peer(here);
}

}  // namespace

CUresult hook::cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const CUresult code = driver::cuCtxEnablePeerAccess(peer, flags);
  if (code == CUDA_SUCCESS && shim::process().is_governed()) change_access(peer, true);
  return code;
}

CUresult hook::cuCtxDisablePeerAccess(CUcontext peer) {
  const CUresult code = driver::cuCtxDisablePeerAccess(peer);
  if (code == CUDA_SUCCESS && shim::process().is_governed()) change_access(peer, false);
  return code;
}

}  // namespace cupool
