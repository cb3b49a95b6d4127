// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/stream_ordered.h"

#include "tools/simgpu/context.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/imported_memory.h"
#include "tools/simgpu/linear_free.h"

namespace cupool::simgpu {
namespace {

bool is_stream_ordered(const Block& block) {
  return block.kind == MemoryKind::pooled || (block.kind == MemoryKind::imported && block.pool != nullptr);
}

}  // namespace

CUresult allocate_in_stream(Context& context, const std::shared_ptr<MemoryPool>& pool, std::uint64_t bytes, CUstream handle,
                            StreamMode mode, CUdeviceptr& out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef stream;
  if (const CUresult code = stream_of(context, handle, mode, stream); code != CUDA_SUCCESS) return code;
  // An allocation in a capture becomes a node of the graph, which this driver does not have.
  if (is_capturing(stream)) return CUDA_ERROR_NOT_SUPPORTED;
  Block block{.kind = MemoryKind::pooled,
              .size = bytes,
              .device = driver().device_of_gpu(pool->gpu()),
              .buffer_id = memory().next_buffer_id(),
              .pool = pool};
  const std::uint64_t number = stream_number(stream);
  CUresult code = pool->take(bytes, number, block.base, block.physical, block.offset);
  if (code == CUDA_ERROR_OUT_OF_MEMORY && pool->has_pending()) {
    // What other streams freed becomes usable by waiting for them, as the driver does by a dependency of its own.
    if (const CUresult waited = wait_idle(context); waited != CUDA_SUCCESS) return waited;
    code = pool->take(bytes, number, block.base, block.physical, block.offset);
  }
  if (code != CUDA_SUCCESS) return code;
  out = block.base;
  memory().add(std::move(block));
  return CUDA_SUCCESS;
}

CUresult free_in_stream(Context& context, CUdeviceptr address, CUstream handle, StreamMode mode) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef stream;
  if (const CUresult code = stream_of(context, handle, mode, stream); code != CUDA_SUCCESS) return code;
  const auto found = memory().find(address);
  if (!found || found->base != address) return CUDA_ERROR_INVALID_VALUE;
  if (is_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!is_stream_ordered(*found)) {
    // Linear memory is accepted too, and waited for.
    return found->kind == MemoryKind::linear || found->kind == MemoryKind::managed ? free_device_memory(&context, address)
                                                                                   : CUDA_ERROR_INVALID_VALUE;
  }
  const auto block = memory().remove(address);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  if (block->kind == MemoryKind::imported) {
    return enqueue(stream, [id = block->physical->handle()] { imported_memory().close(id); });
  }
  const std::uint64_t freed = block->pool->free_in_stream(block->base, block->size, stream_number(stream));
  return enqueue(stream, [pool = block->pool, freed] { pool->reached(freed); });
}

bool free_stream_ordered_now(CUdeviceptr address) {
  const auto found = memory().find(address);
  if (!found || found->base != address || !is_stream_ordered(*found)) return false;
  const auto block = memory().remove(address);
  if (!block) return false;
  if (block->kind == MemoryKind::imported) {
    imported_memory().close(block->physical->handle());
  } else {
    block->pool->free_now(block->base, block->size);
  }
  return true;
}

}  // namespace cupool::simgpu
