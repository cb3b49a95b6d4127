// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/linear_free.h"

#include "tools/simgpu/context.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/stream_ordered.h"

namespace cupool::simgpu {
namespace {

std::shared_ptr<Context> context_with_id(std::uint64_t id) {
  for (auto& context : contexts().all()) {
    if (context->id() == id) return context;
  }
  return nullptr;
}

}  // namespace

CUresult wait_for_users(Context* current, std::uint64_t owner_id) {
  if (current != nullptr) {
    if (const CUresult code = wait_idle(*current); code != CUDA_SUCCESS) return code;
  }
  const auto owner = context_with_id(owner_id);
  if (owner != nullptr && owner.get() != current) wait_idle(*owner);
  return CUDA_SUCCESS;
}

CUresult free_device_memory(Context* current, CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  if (free_stream_ordered_now(address)) return CUDA_SUCCESS;
  const auto block = memory().find(address);
  if (!block || block->base != address) return CUDA_ERROR_INVALID_VALUE;
  if (block->kind != MemoryKind::linear && block->kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult code = wait_for_users(current, block->context); code != CUDA_SUCCESS) return code;
  return memory().release(address, [&](const Block& found) { return found.buffer_id == block->buffer_id; });
}

}  // namespace cupool::simgpu
