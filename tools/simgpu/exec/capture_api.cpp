// SPDX-License-Identifier: Apache-2.0
//
// Entry points: stream capture.
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/graph_forms.h"

using namespace cupool::simgpu;

namespace {

bool is_mode(CUstreamCaptureMode mode) {
  return mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(EntryId id, StreamMode stream_mode, CUstream handle, CUstreamCaptureMode mode) {
  return enter_stream(
      id, Needs::context, stream_mode, handle,
      [&](Call&, Stream& stream) -> CUresult {
        return is_mode(mode) ? begin_capture(stream, mode, nullptr, {}) : CUDA_ERROR_INVALID_VALUE;
      },
      static_cast<int>(mode));
}

template <EntryId id, StreamMode mode>
CUresult begin_v1(CUstream stream) {
  return begin(id, mode, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
template <EntryId id, StreamMode mode>
CUresult begin_v2(CUstream stream, CUstreamCaptureMode capture_mode) {
  return begin(id, mode, stream, capture_mode);
}

template <EntryId id, StreamMode mode>
CUresult begin_to_graph(CUstream handle, CUgraph graph_handle, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                        std::size_t count, CUstreamCaptureMode capture_mode) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    std::shared_ptr<Graph> graph = graph_of(graph_handle);
    if (graph == nullptr || !is_mode(capture_mode)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> front;
    CUresult code = check_edges(edges, count);
    if (code == CUDA_SUCCESS) code = read_nodes(dependencies, count, front);
    if (code != CUDA_SUCCESS) return code;
    return begin_capture(stream, capture_mode, std::move(graph), std::move(front));
  });
}

template <EntryId id, StreamMode mode>
CUresult end(CUstream handle, CUgraph* out) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Graph> graph;
    const CUresult code = end_capture(stream, graph);
    // Of a capture that failed there is no graph.
    *out = code == CUDA_SUCCESS ? handles<Graph>().add<CUgraph>(graph) : nullptr;
    return code;
  });
}

/// What a query of a capture reports; each part only where it is asked for.
struct CaptureReport {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* number = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** front = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* front_count = nullptr;
};

// The array of dependencies belongs to the driver and lasts until the thread's next query.
void report_front(const Stream& stream, const CaptureReport& report) {
  thread_local std::vector<CUgraphNode> front;
  front.assign(stream.capture_front.begin(), stream.capture_front.end());
  if (report.front != nullptr) *report.front = front.data();
  if (report.front_count != nullptr) *report.front_count = front.size();
  if (report.edges != nullptr) *report.edges = nullptr;  // no edge has data
}

CUresult report_capture(Stream& stream, const CaptureReport& report) {
  if (report.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(capture_mutex());
  if (stream.capture == nullptr) {
    *report.status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  *report.status = stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (stream.capture->invalidated) return CUDA_SUCCESS;
  if (report.number != nullptr) *report.number = stream.capture->id;
  // Known by its handle from now on: the program may add nodes to it while it is captured.
  if (report.graph != nullptr) *report.graph = handles<Graph>().add<CUgraph>(stream.capture->graph);
  report_front(stream, report);
  return CUDA_SUCCESS;
}

CUresult query_capture(EntryId id, StreamMode mode, CUstream handle, const CaptureReport& report) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    // Asked of the legacy stream while blocking streams are captured, even the question is an implicit dependency.
    if (stream.is_legacy()) {
      if (const CUresult code = capture_allows_wait(stream); code != CUDA_SUCCESS) return code;
    }
    return report_capture(stream, report);
  });
}

template <EntryId id, StreamMode mode>
CUresult is_capturing_now(CUstream stream, CUstreamCaptureStatus* status) {
  return query_capture(id, mode, stream, {status});
}
template <EntryId id, StreamMode mode>
CUresult info_v1(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number) {
  return query_capture(id, mode, stream, {status, number});
}
template <EntryId id, StreamMode mode>
CUresult info_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph, const CUgraphNode** front,
                 std::size_t* count) {
  return query_capture(id, mode, stream, {status, number, graph, front, nullptr, count});
}
template <EntryId id, StreamMode mode>
CUresult info_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph, const CUgraphNode** front,
                 const CUgraphEdgeData** edges, std::size_t* count) {
  return query_capture(id, mode, stream, {status, number, graph, front, edges, count});
}

CUresult change_front(EntryId id, StreamMode mode, CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData* edges,
                      std::size_t count, unsigned flags) {
  return enter_stream(id, Needs::context, mode, handle, [&](Call&, Stream& stream) -> CUresult {
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> front;
    CUresult code = check_edges(edges, count);
    if (code == CUDA_SUCCESS) code = read_nodes(nodes, count, front);
    if (code != CUDA_SUCCESS) return code;
    const std::lock_guard lock(capture_mutex());
    if (stream.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream.capture_front.clear();
    stream.capture_front.insert(stream.capture_front.end(), front.begin(), front.end());
    return CUDA_SUCCESS;
  });
}

template <EntryId id, StreamMode mode>
CUresult change_front_v1(CUstream stream, CUgraphNode* nodes, std::size_t count, unsigned flags) {
  return change_front(id, mode, stream, nodes, nullptr, count, flags);
}
template <EntryId id, StreamMode mode>
CUresult change_front_v2(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* edges, std::size_t count, unsigned flags) {
  return change_front(id, mode, stream, nodes, edges, count, flags);
}

}  // namespace

SIMGPU_FORMS(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, begin_v1, (CUstream stream), (stream))
SIMGPU_FORMS(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz, begin_v2, (CUstream stream, CUstreamCaptureMode mode),
             (stream, mode))
SIMGPU_FORMS(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, begin_to_graph,
             (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges, size_t count,
              CUstreamCaptureMode mode),
             (stream, graph, dependencies, edges, count, mode))
SIMGPU_FORMS(cuStreamEndCapture, cuStreamEndCapture_ptsz, end, (CUstream stream, CUgraph* graph), (stream, graph))
SIMGPU_FORMS(cuStreamIsCapturing, cuStreamIsCapturing_ptsz, is_capturing_now, (CUstream stream, CUstreamCaptureStatus* status),
             (stream, status))
SIMGPU_FORMS(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz, info_v1,
             (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number), (stream, status, number))
SIMGPU_FORMS(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz, info_v2,
             (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph, const CUgraphNode** front,
              size_t* count),
             (stream, status, number, graph, front, count))
SIMGPU_FORMS(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz, info_v3,
             (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph, const CUgraphNode** front,
              const CUgraphEdgeData** edges, size_t* count),
             (stream, status, number, graph, front, edges, count))
SIMGPU_FORMS(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz, change_front_v1,
             (CUstream stream, CUgraphNode* nodes, size_t count, unsigned int flags), (stream, nodes, count, flags))
SIMGPU_FORMS(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz, change_front_v2,
             (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count, unsigned int flags),
             (stream, nodes, edges, count, flags))

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return enter(
      EntryId::cuThreadExchangeStreamCaptureMode, Needs::init,
      [&](Call&) -> CUresult {
        if (mode == nullptr || !is_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
        *mode = exchange_thread_capture_mode(*mode);
        return CUDA_SUCCESS;
      },
      mode);
}
