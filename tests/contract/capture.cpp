// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/contract/areas.h"

namespace contract {
namespace {

std::size_t node_count(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  driver.cuGraphGetNodes(graph, nullptr, &count);
  return count;
}

void observe_recording(const Driver& driver, Observer& observer, CUstream stream, CUdeviceptr block) {
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  driver.cuStreamIsCapturing(stream, &status);
  observer.expect("not_capturing", static_cast<int>(status), 0, Source::header);
  observer.expect("begin", driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS, Source::header);
  driver.cuStreamIsCapturing(stream, &status);
  observer.expect("capturing", static_cast<int>(status), 1, Source::header);
  observer.expect("begin_twice", driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE,
                  Source::open);
  observer.expect("record_set", driver.cuMemsetD8Async(block, 7, 64, stream), CUDA_SUCCESS, Source::header);
  observer.expect("record_copy", driver.cuMemcpyDtoDAsync_v2(block + 512, block, 64, stream), CUDA_SUCCESS, Source::header);
  observer.expect("end", driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, Source::header);
  observer.expect("end_two_nodes", node_count(driver, graph), std::size_t{2}, Source::header);
  std::size_t edges = 0;
  driver.cuGraphGetEdges(graph, nullptr, nullptr, &edges);
  observer.expect("end_one_edge", edges, std::size_t{1}, Source::header);
  unsigned char byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, block + 512, 1);
  observer.expect("recording_does_not_run", byte == 0, Source::header);
  CUgraphExec executable = nullptr;
  observer.expect("instantiate", driver.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS, Source::header);
  observer.expect("launch", driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(stream);
  driver.cuMemcpyDtoH_v2(&byte, block + 512, 1);
  observer.expect("launch_runs_in_order", byte == 7, Source::header);
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
  observer.expect("end_without_begin", driver.cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS, Source::header);
}

/// Begins a capture, makes `call`, ends the capture; tells both codes.
template <class Call>
void observe_unsafe(const Driver& driver, Observer& observer, CUstream stream, const char* name, CUresult wanted,
                    CUresult wanted_end, const Call& call) {
  CUgraph graph = nullptr;
  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  observer.expect(std::string(name) + "_refused", call(), wanted, Source::header);
  observer.expect(std::string(name) + "_end", driver.cuStreamEndCapture(stream, &graph), wanted_end, Source::header);
  if (graph != nullptr) driver.cuGraphDestroy(graph);
}

void observe_refusals(const Driver& driver, Observer& observer, CUstream stream, CUdeviceptr block) {
  CUdeviceptr pointer = 0;
  constexpr CUresult kUnsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, kInvalidated = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  observer.expect("legacy_stream", driver.cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), kUnsupported,
                  Source::header);
  observe_unsafe(driver, observer, stream, "alloc", kUnsupported, kInvalidated,
                 [&] { return driver.cuMemAlloc_v2(&pointer, 512); });
  observe_unsafe(driver, observer, stream, "synchronize", kUnsupported, kInvalidated,
                 [&] { return driver.cuStreamSynchronize(stream); });
  observe_unsafe(driver, observer, stream, "query", kUnsupported, kInvalidated, [&] { return driver.cuStreamQuery(stream); });
  CUstream plain = nullptr;
  driver.cuStreamCreate(&plain, CU_STREAM_DEFAULT);
  observe_unsafe(driver, observer, plain, "legacy_work", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, kInvalidated,
                 [&] { return driver.cuMemsetD8Async(block, 1, 16, nullptr); });
  driver.cuStreamDestroy_v2(plain);

  CUgraph graph = nullptr;
  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  observer.expect("relaxed_alloc", driver.cuMemAlloc_v2(&pointer, 512), CUDA_SUCCESS, Source::header);
  observer.expect("relaxed_end", driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, Source::header);
  driver.cuGraphDestroy(graph);
  driver.cuMemFree_v2(pointer);

  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  observer.expect("exchange_mode", driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS, Source::header);
  observer.expect("exchange_gives_old", static_cast<int>(mode), 0, Source::header);
  observer.expect("exchanged_alloc", driver.cuMemAlloc_v2(&pointer, 512), CUDA_SUCCESS, Source::header);
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  observer.expect("exchanged_end", driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, Source::header);
  driver.cuGraphDestroy(graph);
  driver.cuMemFree_v2(pointer);
}

void observe_threads(const Driver& driver, Observer& observer, CUstream stream) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  CUgraph graph = nullptr;
  CUresult other_alloc{}, other_end{};
  CUdeviceptr pointer = 0;
  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  std::thread([&] {
    driver.cuCtxSetCurrent(context);
    CUgraph none = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    driver.cuThreadExchangeStreamCaptureMode(&mode);
    other_alloc = driver.cuMemAlloc_v2(&pointer, 512);
    other_end = driver.cuStreamEndCapture(stream, &none);
  }).join();
  observer.expect("thread_local_leaves_others_alone", other_alloc, CUDA_SUCCESS, Source::header);
  observer.expect("end_in_another_thread", other_end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, Source::header);
  driver.cuStreamEndCapture(stream, &graph);
  if (graph != nullptr) driver.cuGraphDestroy(graph);
  driver.cuMemFree_v2(pointer);
}

void observe_forks(const Driver& driver, Observer& observer, CUstream stream, CUdeviceptr block) {
  CUstream side = nullptr;
  CUevent forked = nullptr, joined = nullptr;
  driver.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING);
  driver.cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING);
  driver.cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING);
  CUgraph graph = nullptr;
  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  driver.cuMemsetD8Async(block, 1, 16, stream);
  driver.cuEventRecord(forked, stream);
  observer.expect("fork", driver.cuStreamWaitEvent(side, forked, 0), CUDA_SUCCESS, Source::header);
  CUstreamCaptureStatus status{};
  driver.cuStreamIsCapturing(side, &status);
  observer.expect("fork_draws_the_stream_in", static_cast<int>(status), 1, Source::header);
  driver.cuMemsetD8Async(block + 64, 2, 16, side);
  driver.cuEventRecord(joined, side);
  driver.cuStreamWaitEvent(stream, joined, 0);
  driver.cuMemsetD8Async(block + 128, 3, 16, stream);
  observer.expect("fork_end", driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, Source::header);
  observer.expect("fork_nodes", node_count(driver, graph), std::size_t{3}, Source::header);
  driver.cuGraphDestroy(graph);

  driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  driver.cuMemsetD8Async(block, 1, 16, stream);
  driver.cuEventRecord(forked, stream);
  driver.cuStreamWaitEvent(side, forked, 0);
  driver.cuMemsetD8Async(block + 64, 2, 16, side);
  observer.expect("unjoined", driver.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED, Source::header);
  driver.cuStreamIsCapturing(side, &status);
  observer.expect("after_unjoined_side_is_free", static_cast<int>(status), 0, Source::open);
  driver.cuEventDestroy_v2(forked);
  driver.cuEventDestroy_v2(joined);
  driver.cuStreamDestroy_v2(side);
}

}  // namespace

void observe_capture(const Driver& driver, Observer& observer) {
  observer.area("capture");
  CUstream stream = nullptr;
  CUdeviceptr block = 0;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  driver.cuMemAlloc_v2(&block, 4096);
  driver.cuMemsetD8_v2(block, 0, 4096);
  observe_recording(driver, observer, stream, block);
  observe_refusals(driver, observer, stream, block);
  observe_threads(driver, observer, stream);
  observe_forks(driver, observer, stream, block);
  driver.cuMemFree_v2(block);
  driver.cuStreamDestroy_v2(stream);
}

}  // namespace contract
