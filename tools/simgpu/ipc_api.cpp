// SPDX-License-Identifier: Apache-2.0
//
// Entry points: legacy interprocess memory handles, which travel by value. Only linear memory has them.
#include <unistd.h>

#include <cstring>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/imported_memory.h"
#include "tools/simgpu/memory.h"

using namespace cupool::simgpu;

namespace {

CUresult get_handle(CUipcMemHandle* out, CUdeviceptr address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto block = memory().find(address);
  if (!block || block->kind != MemoryKind::linear) return CUDA_ERROR_INVALID_VALUE;
  SharedRange range{};
  range.magic = kIpcMagic;
  range.handle = block->physical->handle();
  range.nonce = publish(*block->physical);
  range.offset = block->offset;
  range.size = block->size;
  range.block = block->buffer_id;
  range.process = getpid();
  std::memcpy(out, &range, sizeof range);
  return CUDA_SUCCESS;
}

// An opened block is listed at its address; opening it again counts and answers with the same address.
CUresult open_handle(Call& call, CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
  SharedRange range{};
  std::memcpy(&range, &handle, sizeof range);
  if (out == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || range.magic != kIpcMagic) return CUDA_ERROR_INVALID_VALUE;
  if (range.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;  // a process cannot open its own
  Block block{.kind = MemoryKind::imported,
              .size = range.size,
              .device = &call.context->device(),
              .context = call.context->id(),
              .buffer_id = memory().next_buffer_id(),
              .opened = 1};
  DeviceAddress base = 0;
  if (const CUresult code = imported_memory().open(range, *block.device, base, block.physical); code != CUDA_SUCCESS) return code;
  block.base = base + range.offset;
  block.offset = range.offset;
  *out = block.base;
  if (!memory().update(block.base, [](Block& known) { ++known.opened; })) memory().add(std::move(block));
  return CUDA_SUCCESS;
}

CUresult close_handle(CUdeviceptr address) {
  const auto block = memory().find(address);
  if (!block || block->kind != MemoryKind::imported || block->base != address || block->pool != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  bool last = false;
  memory().update(address, [&](Block& found) { last = --found.opened == 0; });
  if (last) memory().remove(address);
  imported_memory().close(block->physical->handle());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  return enter(
      EntryId::cuIpcGetMemHandle, Needs::context, [&](Call&) { return get_handle(out, address); }, out, address);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return enter(
      EntryId::cuIpcOpenMemHandle, Needs::context | Needs::uncaptured,
      [&](Call& call) { return open_handle(call, out, handle, flags); }, out, handle, flags);
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return enter(
      EntryId::cuIpcOpenMemHandle_v2, Needs::context | Needs::uncaptured,
      [&](Call& call) { return open_handle(call, out, handle, flags); }, out, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return enter(
      EntryId::cuIpcCloseMemHandle, Needs::context | Needs::uncaptured, [&](Call&) { return close_handle(address); }, address);
}
