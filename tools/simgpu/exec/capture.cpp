// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/capture.h"

#include <algorithm>
#include <atomic>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/graph.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/stream_object.h"
#include "tools/simgpu/execution.h"

namespace cupool::simgpu {
namespace {

// Relaxed: only the quick way past; whoever acts on a capture looks again under the lock.
std::atomic<int> g_open{0};
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::vector<std::shared_ptr<Capture>>& open_captures() {
  static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

// The legacy stream would have to wait for every blocking stream: with one of them captured, that dependency cannot exist.
CUresult refuse_legacy(const Context& context) {
  CUresult code = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : open_captures()) {
    const bool involved = std::any_of(capture->members.begin(), capture->members.end(), [&](const Stream* stream) {
      return &stream->context() == &context && stream->queue().kind() == StreamKind::blocking;
    });
    if (!involved) continue;
    capture->invalidated = true;
    code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return code;
}

CaptureGate refused(Capture& capture, CUresult code) {
  capture.invalidated = true;
  return {true, code};
}

void add_front(std::vector<GraphNode*>& front, const std::vector<GraphNode*>& more) {
  for (GraphNode* node : more) {
    if (std::find(front.begin(), front.end(), node) == front.end()) front.push_back(node);
  }
}

// A wait for an event joins the stream to the event's capture, or must stay within the stream's own.
CaptureGate pass_wait(Stream& stream, const EventWaitOperation& wait) {
  const Event& event = *wait.event;
  if (event.capture == nullptr) {
    if (stream.capture == nullptr) return {};
    if (!event.is_recorded()) return {true, CUDA_SUCCESS};  // nothing to wait for
    return refused(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  if (event.capture->members.empty()) return {true, CUDA_ERROR_CAPTURED_EVENT};  // that capture is over
  if (event.capture->invalidated) return {true, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  if (stream.capture != nullptr && stream.capture != event.capture) {
    event.capture->invalidated = true;
    return refused(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream.is_legacy()) return refused(*event.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (stream.capture == nullptr) {
    stream.capture = event.capture;
    stream.capture_front.clear();
    event.capture->members.insert(&stream);
  }
  add_front(stream.capture_front, event.capture_front);
  return {true, CUDA_SUCCESS};
}

CaptureGate append_node(Stream& stream, const SharedOperation& operation) {
  GraphNode* node = nullptr;
  const CUresult code = stream.capture->graph->add(operation, stream.capture_front, node);
  if (code == CUDA_SUCCESS) stream.capture_front = {node};
  return {true, code};
}

bool leads_to(const GraphNode* node, const std::vector<GraphNode*>& targets) {
  std::vector<const GraphNode*> todo(targets.begin(), targets.end());
  std::set<const GraphNode*> seen;
  while (!todo.empty()) {
    const GraphNode* at = todo.back();
    todo.pop_back();
    if (at == node) return true;
    if (seen.insert(at).second) todo.insert(todo.end(), at->dependencies.begin(), at->dependencies.end());
  }
  return false;
}

bool is_joined(const Capture& capture, const Stream& origin) {
  return std::all_of(capture.members.begin(), capture.members.end(), [&](const Stream* member) {
    return std::all_of(member->capture_front.begin(), member->capture_front.end(),
                       [&](const GraphNode* node) { return leads_to(node, origin.capture_front); });
  });
}

enum class Captured { kept, dropped };

void close(const std::shared_ptr<Capture>& capture, Captured result) {
  for (Stream* member : capture->members) {
    member->capture.reset();
    member->capture_front.clear();
  }
  capture->members.clear();
  capture->invalidated = true;  // an event that was recorded in it joins nothing any more
  std::erase(open_captures(), capture);
  // A query may have made its handle known.
  if (result == Captured::dropped && capture->owns_graph) handles<Graph>().remove(capture->graph.get());
  g_open.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

std::mutex& capture_mutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

bool is_any_capture_open() {
  return g_open.load(std::memory_order_relaxed) != 0;
}

CaptureGate pass_capture(Stream& stream, const SharedOperation& operation) {
  if (const auto* record = operation->as<EventRecordOperation>(); record == nullptr && !is_any_capture_open()) return {};
  const std::lock_guard lock(capture_mutex());
  if (const auto* wait = operation->as<EventWaitOperation>()) return pass_wait(stream, *wait);
  if (stream.capture == nullptr) {
    if (stream.is_legacy()) {
      if (const CUresult code = refuse_legacy(stream.context()); code != CUDA_SUCCESS) return {true, code};
    }
    if (const auto* record = operation->as<EventRecordOperation>()) {
      record->event->capture.reset();
      record->event->capture_front.clear();
    }
    return {};
  }
  if (stream.capture->invalidated) return {true, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  if (const auto* record = operation->as<EventRecordOperation>()) {
    record->event->capture = stream.capture;
    record->event->capture_front = stream.capture_front;
    return {true, CUDA_SUCCESS};
  }
  if (operation->as<CallbackOperation>() != nullptr) return refused(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return append_node(stream, operation);
}

CaptureGate add_captured_node(Stream& stream, const SharedOperation& operation) {
  if (!is_any_capture_open()) return {};
  const std::lock_guard lock(capture_mutex());
  if (stream.capture == nullptr) return {};
  if (stream.capture->invalidated) return {true, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  return append_node(stream, operation);
}

CUresult capture_allows_wait(Stream& stream) {
  if (!is_any_capture_open()) return CUDA_SUCCESS;
  const std::lock_guard lock(capture_mutex());
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return stream.is_legacy() ? refuse_legacy(stream.context()) : CUDA_SUCCESS;
}

CUresult capture_allows_wait(Event& event) {
  const std::lock_guard lock(capture_mutex());
  if (event.capture == nullptr) return CUDA_SUCCESS;
  if (event.capture->members.empty()) return CUDA_ERROR_CAPTURED_EVENT;
  event.capture->invalidated = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into, std::vector<GraphNode*> front) {
  static std::atomic<std::uint64_t> last_id{0};  // relaxed: uniqueness is all
  if (stream.is_legacy()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(capture_mutex());
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->owns_graph = into == nullptr;
  capture->graph = into != nullptr ? std::move(into) : std::make_shared<Graph>();
  capture->members.insert(&stream);
  stream.capture = capture;
  stream.capture_front = std::move(front);
  open_captures().push_back(std::move(capture));
  g_open.fetch_add(1, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult end_capture(Stream& stream, std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(capture_mutex());
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult code = CUDA_SUCCESS;
  if (capture->invalidated) {
    code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!is_joined(*capture, stream)) {
    code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  } else {
    graph = capture->graph;
  }
  close(capture, code == CUDA_SUCCESS ? Captured::kept : Captured::dropped);
  return code;
}

CUstreamCaptureMode exchange_thread_capture_mode(CUstreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

void forget_captured(Stream& stream) {
  if (!is_any_capture_open()) return;
  const std::lock_guard lock(capture_mutex());
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->invalidated = true;
  if (capture->origin == &stream) {
    close(capture, Captured::dropped);
    return;
  }
  capture->members.erase(&stream);
  stream.capture.reset();
}

CUresult capture_verdict() {
  if (!is_any_capture_open() || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(capture_mutex());
  CUresult code = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : open_captures()) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool forbids = mine ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                              : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!forbids) continue;
    capture->invalidated = true;
    code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return code;
}

}  // namespace cupool::simgpu
