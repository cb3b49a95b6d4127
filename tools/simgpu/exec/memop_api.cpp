// SPDX-License-Identifier: Apache-2.0
//
// Entry points: waits for and writes of single values in stream order. The first and the second version differ in nothing here.
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/issue.h"
#include "tools/simgpu/exec/memory_operation.h"

using namespace cupool::simgpu;

namespace {

CUresult issue_parts(EntryId id, StreamMode mode, CUstream handle, const CUstreamBatchMemOpParams* parts, unsigned count,
                     unsigned flags) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call& call, Stream& stream) -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult code = check_memory_operations(parts, count); code != CUDA_SUCCESS) return code;
    if (count == 0) return CUDA_SUCCESS;
    return issue(stream, make_operation(*call.context, MemoryOperation{{parts, parts + count}}));
  });
}

CUresult issue_part(EntryId id, StreamMode mode, CUstream stream, CUstreamBatchMemOpType what, CUdeviceptr address,
                    cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams part{};
  part.waitValue.operation = what;
  part.waitValue.address = address;
  part.waitValue.value64 = value;  // a 32-bit value is its lower half
  part.waitValue.flags = flags;
  return issue_parts(id, mode, stream, &part, 1, 0);
}

template <EntryId id, StreamMode mode>
CUresult wait_32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return issue_part(id, mode, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
template <EntryId id, StreamMode mode>
CUresult wait_64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return issue_part(id, mode, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
template <EntryId id, StreamMode mode>
CUresult write_32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return issue_part(id, mode, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
template <EntryId id, StreamMode mode>
CUresult write_64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return issue_part(id, mode, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
template <EntryId id, StreamMode mode>
CUresult batch(CUstream stream, unsigned count, CUstreamBatchMemOpParams* parts, unsigned flags) {
  return issue_parts(id, mode, stream, parts, count, flags);
}

}  // namespace

#define SIMGPU_VALUE(name, body, value_type)                                                                                  \
  SIMGPU_FORMS(name, name##_ptsz, body, (CUstream stream, CUdeviceptr address, value_type value, unsigned int flags),         \
               (stream, address, value, flags))                                                                               \
  SIMGPU_FORMS(name##_v2, name##_v2_ptsz, body, (CUstream stream, CUdeviceptr address, value_type value, unsigned int flags), \
               (stream, address, value, flags))
SIMGPU_VALUE(cuStreamWaitValue32, wait_32, cuuint32_t)
SIMGPU_VALUE(cuStreamWaitValue64, wait_64, cuuint64_t)
SIMGPU_VALUE(cuStreamWriteValue32, write_32, cuuint32_t)
SIMGPU_VALUE(cuStreamWriteValue64, write_64, cuuint64_t)
#undef SIMGPU_VALUE

SIMGPU_FORMS(cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz, batch,
             (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* parts, unsigned int flags),
             (stream, count, parts, flags))
SIMGPU_FORMS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz, batch,
             (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* parts, unsigned int flags),
             (stream, count, parts, flags))
