// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/memory_operation.h"

#include <atomic>

#include "tools/simgpu/context.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/read_scope.h"

namespace cupool::simgpu {
namespace {

template <class Value>
bool holds(Value memory, Value wanted, unsigned flags) {
  switch (flags & ~static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH)) {
    case CU_STREAM_WAIT_VALUE_GEQ: {
      // Cyclic, as counters that wrap need it: the difference is read as signed.
      using Signed = std::make_signed_t<Value>;
      return static_cast<Signed>(memory - wanted) >= 0;
    }
    case CU_STREAM_WAIT_VALUE_EQ:
      return memory == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
      return (memory & wanted) != 0;
    default:
      return static_cast<Value>(~(memory | wanted)) != 0;
  }
}

// Acquire and release: the other side may be a host thread that reads or writes the same word.
template <class Value>
CUresult wait_value(const Context& context, CUdeviceptr address, Value wanted, unsigned flags, bool& waiting) {
  std::byte* const host = page_table().translate(address, context.device().gpu, Access::read);
  if (host == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const Value memory = std::atomic_ref<Value>(*reinterpret_cast<Value*>(host)).load(std::memory_order_acquire);
  waiting = !holds(memory, wanted, flags);
  return CUDA_SUCCESS;
}

template <class Value>
CUresult write_value(const Context& context, CUdeviceptr address, Value value) {
  std::byte* const host = page_table().translate(address, context.device().gpu, Access::write);
  if (host == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::atomic_ref<Value>(*reinterpret_cast<Value*>(host)).store(value, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult step(const CUstreamBatchMemOpParams& part, const Context& context, bool& waiting) {
  switch (part.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_value<cuuint32_t>(context, part.waitValue.address, part.waitValue.value, part.waitValue.flags, waiting);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_value<cuuint64_t>(context, part.waitValue.address, part.waitValue.value64, part.waitValue.flags, waiting);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_value<cuuint32_t>(context, part.writeValue.address, part.writeValue.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_value<cuuint64_t>(context, part.writeValue.address, part.writeValue.value64);
    default:  // barriers and flushes: every access here is in order anyway
      return CUDA_SUCCESS;
  }
}

bool is_aligned(const CUstreamBatchMemOpParams& part) {
  switch (part.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return part.waitValue.address != 0 && part.waitValue.address % 4 == 0;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return part.waitValue.address != 0 && part.waitValue.address % 8 == 0;
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return true;
    default:
      return false;
  }
}

}  // namespace

CUresult advance(const MemoryOperation& operation, Context& context, std::size_t& done, bool& waiting) {
  const ReadScope scope;
  for (; done < operation.parts.size(); ++done) {
    const CUresult code = step(operation.parts[done], context, waiting);
    if (code != CUDA_SUCCESS || waiting) return code;
  }
  return CUDA_SUCCESS;
}

CUresult check_memory_operations(const CUstreamBatchMemOpParams* parts, unsigned count) {
  constexpr unsigned kMost = 256;  // as the driver's documentation says
  if (count > kMost || (count > 0 && parts == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (!is_aligned(parts[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
