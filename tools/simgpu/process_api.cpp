// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the profiler's switch, which has no profiler to turn on.
#include "tools/simgpu/entry.h"

using namespace cupool::simgpu;

CUresult cuProfilerInitialize(const char* config, const char* output, CUoutput_mode mode) {
  return enter(
      EntryId::cuProfilerInitialize, Needs::nothing, [&](Call&) { return CUDA_ERROR_NOT_SUPPORTED; }, config, output, mode);
}
CUresult cuProfilerStart(void) {
  return enter(EntryId::cuProfilerStart, Needs::context, [&](Call&) { return CUDA_SUCCESS; });
}
CUresult cuProfilerStop(void) {
  return enter(EntryId::cuProfilerStop, Needs::context, [&](Call&) { return CUDA_SUCCESS; });
}
