// SPDX-License-Identifier: Apache-2.0
//
// Entry points: page-locked and registered host memory.
#include "tools/simgpu/entry.h"
#include "tools/simgpu/host_memory.h"
#include "tools/simgpu/memory.h"

using namespace cupool::simgpu;

namespace {

constexpr Needs kUnsafe = Needs::context | Needs::uncaptured;
constexpr Needs kRelease = Needs::context_if_any | Needs::uncaptured;

CUresult allocate(Call& call, void** out, std::size_t bytes, unsigned flags) {
  call.bytes = bytes;
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate_host(*call.context, bytes, flags, *out);
}

CUresult register_memory(Call& call, void* address, std::size_t bytes, unsigned flags) {
  call.bytes = bytes;
  return register_host(*call.context, address, bytes, flags);
}

bool is_host(const Block& block) {
  return block.kind == MemoryKind::host || block.kind == MemoryKind::registered;
}

}  // namespace

CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return enter(
      EntryId::cuMemAllocHost_v2, kUnsafe, [&](Call& call) { return allocate(call, out, bytes, 0); }, out, bytes);
}

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
  return enter(
      EntryId::cuMemHostAlloc, kUnsafe, [&](Call& call) { return allocate(call, out, bytes, flags); }, out, bytes, flags);
}

CUresult cuMemFreeHost(void* address) {
  return enter(
      EntryId::cuMemFreeHost, kRelease, [&](Call& call) { return free_host(call.context, address); }, address);
}

CUresult cuMemHostRegister(void* address, size_t bytes, unsigned int flags) {
  return enter(
      EntryId::cuMemHostRegister, kUnsafe, [&](Call& call) { return register_memory(call, address, bytes, flags); }, address, bytes,
      flags);
}

CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned int flags) {
  return enter(
      EntryId::cuMemHostRegister_v2, kUnsafe, [&](Call& call) { return register_memory(call, address, bytes, flags); }, address,
      bytes, flags);
}

CUresult cuMemHostUnregister(void* address) {
  return enter(
      EntryId::cuMemHostUnregister, kRelease, [&](Call& call) { return unregister_host(call.context, address); }, address);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* address, unsigned int flags) {
  return enter(
      EntryId::cuMemHostGetDevicePointer_v2, Needs::context,
      [&](Call&) -> CUresult {
        if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        const auto block = memory().find(reinterpret_cast<DeviceAddress>(address));
        if (!block || !is_host(*block)) return CUDA_ERROR_INVALID_VALUE;
        *out = reinterpret_cast<DeviceAddress>(address);
        return CUDA_SUCCESS;
      },
      out, address, flags);
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* address) {
  return enter(
      EntryId::cuMemHostGetFlags, Needs::context,
      [&](Call&) -> CUresult {
        if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto block = memory().find(reinterpret_cast<DeviceAddress>(address));
        if (!block || !is_host(*block)) return CUDA_ERROR_INVALID_VALUE;
        // Under unified addressing all page-locked memory is mapped and portable, whether asked for or not.
        *flags = block->flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
      },
      flags, address);
}
