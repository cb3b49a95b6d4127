// SPDX-License-Identifier: Apache-2.0
//
// Stream captures: counted, because nothing of ours may synchronise, unmap or record while one is open.
#include "shim/capture.h"

#include "shim/hooks/hooks.h"
#include "shim/real_driver.h"

namespace cupool {
namespace {

CUresult began(CUresult code) {
  if (code == CUDA_SUCCESS) shim::OpenCaptures::began();
  return code;
}

/// A capture has ended when the stream does not capture any more, whatever the call returned: an invalidated one ends in an error.
template <class Call>
CUresult end(CUstream stream, const Call& call) {
  CUstreamCaptureStatus before = CU_STREAM_CAPTURE_STATUS_NONE, after = CU_STREAM_CAPTURE_STATUS_NONE;
  driver::cuStreamIsCapturing(stream, &before);
  const CUresult code = call();
  driver::cuStreamIsCapturing(stream, &after);
  if (before != CU_STREAM_CAPTURE_STATUS_NONE && after == CU_STREAM_CAPTURE_STATUS_NONE) shim::OpenCaptures::ended();
  return code;
}

}  // namespace

CUresult hook::cuStreamBeginCapture(CUstream stream) {
  return began(driver::cuStreamBeginCapture(stream));
}
CUresult hook::cuStreamBeginCapture_ptsz(CUstream stream) {
  return began(driver::cuStreamBeginCapture_ptsz(stream));
}
CUresult hook::cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return began(driver::cuStreamBeginCapture_v2(stream, mode));
}
CUresult hook::cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return began(driver::cuStreamBeginCapture_v2_ptsz(stream, mode));
}
CUresult hook::cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                           const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  return began(driver::cuStreamBeginCaptureToGraph(stream, graph, dependencies, data, count, mode));
}
CUresult hook::cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                                const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  return began(driver::cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, data, count, mode));
}
CUresult hook::cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end(stream, [&] { return driver::cuStreamEndCapture(stream, graph); });
}
CUresult hook::cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return end(stream, [&] { return driver::cuStreamEndCapture_ptsz(stream, graph); });
}
CUresult hook::cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return driver::cuThreadExchangeStreamCaptureMode(mode);
}

}  // namespace cupool
