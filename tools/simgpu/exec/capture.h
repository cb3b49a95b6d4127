// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/operation.h"

namespace cupool::simgpu {

class Event;
class Graph;
class Stream;
struct GraphNode;

/// One capture sequence: from cuStreamBeginCapture to cuStreamEndCapture, over all streams that have joined it by events.
/// Guarded by capture_mutex().
class Capture {
 public:
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::shared_ptr<Graph> graph;
  bool owns_graph = true;  ///< made for this capture: it goes when the capture fails
  bool invalidated = false;
  std::set<Stream*> members;  ///< streams that are captured into it, the origin too
};

/// One lock for the state of all captures: captures are rare, and their rules reach across streams, events and threads.
std::mutex& capture_mutex();

/// False while no capture is open anywhere: the quick way past everything below. Any thread.
bool is_any_capture_open();

/// What becomes of an operation handed in to a stream.
struct CaptureGate {
  bool is_taken = false;  ///< it has become a node, or was refused: nothing more to do
  CUresult code = CUDA_SUCCESS;
};

/// Makes the operation a node if the stream is being captured. Refuses it where the rules of capture do:
/// 901 after invalidation, 905 and 902 for waits across the border of the capture, 906 for work in the legacy stream that
/// would depend on a captured blocking stream (which invalidates that capture).
CaptureGate pass_capture(Stream& stream, const SharedOperation& operation);

/// Makes the operation a node if the stream is being captured, whatever it is.
CaptureGate add_captured_node(Stream& stream, const SharedOperation& operation);

/// Whether the stream may be asked for its state or waited for: 900 when it is captured (and the capture is invalidated), 906 for
/// the legacy stream beside captured blocking ones.
CUresult capture_allows_wait(Stream& stream);
/// The same for an event: 907 when its last record was captured.
CUresult capture_allows_wait(Event& event);

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into, std::vector<GraphNode*> front);
CUresult end_capture(Stream& stream, std::shared_ptr<Graph>& graph);

/// The mode of the calling thread; returns what it was.
CUstreamCaptureMode exchange_thread_capture_mode(CUstreamCaptureMode mode);

/// A stream that ends invalidates the capture it takes part in.
void forget_captured(Stream& stream);

}  // namespace cupool::simgpu
