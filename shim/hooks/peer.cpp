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

/// The current device may use the peer's memory, also where the process had not used the peer before.
void open_to_current(CUcontext peer) {
  CUdevice here = -1;
  const CUdevice there = device_of(peer);
  if (there < 0 || driver::cuCtxGetDevice(&here) != CUDA_SUCCESS || here == there) return;
  shim::Device* device = shim::process().device(there);
  if (device != nullptr && device->is_pooled()) device->backing().add_peer(here);
}

}  // namespace

CUresult hook::cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const CUresult code = driver::cuCtxEnablePeerAccess(peer, flags);
  if (code == CUDA_SUCCESS && shim::process().is_governed()) open_to_current(peer);
  return code;
}

CUresult hook::cuCtxDisablePeerAccess(CUcontext peer) {
  return driver::cuCtxDisablePeerAccess(peer);  // copies between the devices go on working, so the pool stays open to the peer
}

}  // namespace cupool
