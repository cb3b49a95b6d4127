// SPDX-License-Identifier: Apache-2.0
//
// Which streams there are: a free has to know where work may still be.
#include "shim/hooks/hooks.h"
#include "shim/process.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

using shim::process;

CUresult created(CUresult code, CUstream* stream) {
  CUcontext context = nullptr;
  if (code == CUDA_SUCCESS && process().is_governed() && driver::cuCtxGetCurrent(&context) == CUDA_SUCCESS) {
    process().streams().created(context, *stream);
  }
  return code;
}

/// Notes what the stream still has to do, then lets it go.
template <class Call>
CUresult destroy(CUstream stream, const Call& call) {
  shim::StreamRegistry& streams = process().streams();
  if (!process().is_governed() || !streams.is_live(stream)) return call();
  if (const CUcontext context = streams.context_of(stream)) {
    const shim::ContextFacts facts = process().contexts().find(context);
    shim::Device* device = facts.number == 0 ? nullptr : process().device_if_open(facts.device);
    if (device != nullptr) device->completions().destroying(context, stream);
  }
  const CUresult code = call();
  if (code == CUDA_SUCCESS) streams.destroyed(stream);
  return code;
}

}  // namespace

CUresult hook::cuStreamCreate(CUstream* stream, unsigned int flags) {
  return created(driver::cuStreamCreate(stream, flags), stream);
}
CUresult hook::cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return created(driver::cuStreamCreateWithPriority(stream, flags, priority), stream);
}
CUresult hook::cuStreamDestroy_v2(CUstream stream) {
  return destroy(stream, [&] { return driver::cuStreamDestroy_v2(stream); });
}
CUresult hook::cuStreamDestroy(CUstream stream) {
  return destroy(stream, [&] { return driver::cuStreamDestroy(stream); });
}

}  // namespace cupool
