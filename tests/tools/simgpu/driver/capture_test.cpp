// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

/// A stream that is being captured; what is left of it is ended quietly.
struct Captured {
  explicit Captured(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL, unsigned flags = CU_STREAM_NON_BLOCKING) {
    DRIVER_OK(cuStreamCreate(&stream, flags));
    DRIVER_OK(cuStreamBeginCapture_v2(stream, mode));
  }
  ~Captured() {
    CUgraph rest = nullptr;
    if (graph == nullptr) cuStreamEndCapture(stream, &rest);
    if (rest != nullptr) cuGraphDestroy(rest);
    if (graph != nullptr) cuGraphDestroy(graph);
    cuStreamDestroy_v2(stream);
  }
  CUresult end() { return cuStreamEndCapture(stream, &graph); }
  CUstreamCaptureStatus status() const {
    CUstreamCaptureStatus value = CU_STREAM_CAPTURE_STATUS_NONE;
    DRIVER_OK(cuStreamIsCapturing(stream, &value));
    return value;
  }

  CUstream stream = nullptr;
  CUgraph graph = nullptr;
};

std::size_t node_count(CUgraph graph) {
  std::size_t count = 0;
  DRIVER_OK(cuGraphGetNodes(graph, nullptr, &count));
  return count;
}

std::size_t edge_count(CUgraph graph) {
  std::size_t count = 0;
  DRIVER_OK(cuGraphGetEdges(graph, nullptr, nullptr, &count));
  return count;
}

template <class Body>
auto in_thread(CUcontext context, Body body) {
  decltype(body()) answer{};
  std::thread([&] {
    cuCtxSetCurrent(context);
    answer = body();
  }).join();
  return answer;
}

using Asking = CUresult (*)(CUstream);

CUresult try_alloc() {
  CUdeviceptr memory = 0;
  const CUresult code = cuMemAlloc_v2(&memory, 512);
  if (code == CUDA_SUCCESS) cuMemFree_v2(memory);
  return code;
}

}  // namespace

TEST_CASE("captured work does not run, and runs at each launch of its graph", "[simgpu][capture]") {
  TestContext context;
  Words words(4);
  CUmodule module = load_kernels();
  CUdeviceptr address = words.address();
  std::uint32_t count = 4;
  void* arguments[] = {&address, &count};
  Captured captured;
  DRIVER_OK(cuLaunchKernel(kernel(module, "add_one"), 1, 1, 1, 4, 1, 1, 0, captured.stream, arguments, nullptr));
  DRIVER_OK(cuLaunchKernel(kernel(module, "add_one"), 1, 1, 1, 2, 1, 1, 0, captured.stream, arguments, nullptr));
  DRIVER_OK(captured.end());
  CHECK(words[0] == 0);
  CHECK(node_count(captured.graph) == 2);
  CHECK(edge_count(captured.graph) == 1);
  CUgraphExec exec = nullptr;
  DRIVER_OK(cuGraphInstantiateWithFlags(&exec, captured.graph, 0));
  DRIVER_OK(cuGraphLaunch(exec, captured.stream));
  DRIVER_OK(cuGraphLaunch(exec, captured.stream));
  DRIVER_OK(cuStreamSynchronize(captured.stream));
  CHECK(words[0] == 4);
  CHECK(words[3] == 2);
  DRIVER_OK(cuGraphExecDestroy(exec));
}

TEST_CASE("a captured stream may be neither waited for nor asked, which invalidates the capture", "[simgpu][capture]") {
  TestContext context;
  const auto refused = GENERATE(as<Asking>{}, cuStreamSynchronize, cuStreamQuery);
  Captured captured;
  CHECK(refused(captured.stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(captured.status() == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CHECK(cuLaunchHostFunc(
            captured.stream, [](void*) {}, nullptr) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(captured.graph == nullptr);
  CHECK(captured.status() == CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_CASE("an unsafe call during a global capture is refused in every thread and spoils the capture", "[simgpu][capture]") {
  TestContext context;
  const bool elsewhere = GENERATE(false, true);
  Captured captured(CU_STREAM_CAPTURE_MODE_GLOBAL);
  const CUresult code = elsewhere ? in_thread(context.handle(), try_alloc) : try_alloc();
  CHECK(code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("a thread-local capture forbids unsafe calls in its own thread only", "[simgpu][capture]") {
  TestContext context;
  Captured captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(in_thread(context.handle(), try_alloc) == CUDA_SUCCESS);
  CHECK(captured.status() == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(try_alloc() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_CASE("a relaxed capture forbids no unsafe call", "[simgpu][capture]") {
  TestContext context;
  Captured captured(CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(try_alloc() == CUDA_SUCCESS);
  CHECK(in_thread(context.handle(), try_alloc) == CUDA_SUCCESS);
  CHECK(captured.end() == CUDA_SUCCESS);
}

TEST_CASE("a thread that relaxes its own mode may make unsafe calls beside a global capture", "[simgpu][capture]") {
  TestContext context;
  Captured captured(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  DRIVER_OK(cuThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(try_alloc() == CUDA_SUCCESS);
  DRIVER_OK(cuThreadExchangeStreamCaptureMode(&mode));
  CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(captured.end() == CUDA_SUCCESS);
}

TEST_CASE("events fork a capture into other streams and join them again", "[simgpu][capture]") {
  TestContext context;
  Words words(3);
  Captured captured;
  CUstream side = nullptr;
  CUevent fork = nullptr;
  CUevent join = nullptr;
  DRIVER_OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
  DRIVER_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  DRIVER_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  DRIVER_OK(cuMemsetD32Async(words.address(), 1, 1, captured.stream));
  DRIVER_OK(cuEventRecord(fork, captured.stream));
  DRIVER_OK(cuStreamWaitEvent(side, fork, 0));
  DRIVER_OK(cuMemcpyDtoDAsync_v2(words.address() + 4, words.address(), 4, side));
  DRIVER_OK(cuEventRecord(join, side));
  SECTION("joined, the graph has both branches") {
    DRIVER_OK(cuStreamWaitEvent(captured.stream, join, 0));
    DRIVER_OK(cuMemcpyDtoDAsync_v2(words.address() + 8, words.address() + 4, 4, captured.stream));
    DRIVER_OK(captured.end());
    CHECK(node_count(captured.graph) == 3);
    CHECK(edge_count(captured.graph) == 3);
    CUgraphExec exec = nullptr;
    DRIVER_OK(cuGraphInstantiateWithFlags(&exec, captured.graph, 0));
    DRIVER_OK(cuGraphLaunch(exec, side));
    DRIVER_OK(cuStreamSynchronize(side));
    CHECK(words[2] == 1);
    DRIVER_OK(cuGraphExecDestroy(exec));
  }
  SECTION("not joined, the capture ends in an error") {
    CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
  SECTION("only the stream that began may end it") {
    CUgraph graph = nullptr;
    CHECK(cuStreamEndCapture(side, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  SECTION("an event that was captured can be neither asked nor awaited") {
    CHECK(cuEventQuery(fork) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  DRIVER_OK(cuStreamDestroy_v2(side));
  DRIVER_OK(cuEventDestroy_v2(fork));
  DRIVER_OK(cuEventDestroy_v2(join));
}

TEST_CASE("a capture cannot wait for work outside of it", "[simgpu][capture]") {
  TestContext context;
  CUevent before = nullptr;
  DRIVER_OK(cuEventCreate(&before, 0));
  DRIVER_OK(cuEventRecord(before, nullptr));
  Captured captured;
  CHECK(cuStreamWaitEvent(captured.stream, before, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  DRIVER_OK(cuEventDestroy_v2(before));
}

TEST_CASE("two captures cannot be merged", "[simgpu][capture]") {
  TestContext context;
  CUevent event = nullptr;
  DRIVER_OK(cuEventCreate(&event, 0));
  Captured one;
  Captured two;
  DRIVER_OK(cuEventRecord(event, one.stream));
  CHECK(cuStreamWaitEvent(two.stream, event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
  CHECK(one.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(two.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  DRIVER_OK(cuEventDestroy_v2(event));
}

TEST_CASE("the legacy default stream is closed while a blocking stream is captured", "[simgpu][capture]") {
  TestContext context;
  Words words(1);
  std::uint32_t value = 0;
  SECTION("synchronous copies use it") {
    Captured captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT);
    CHECK(cuMemcpyDtoH_v2(&value, words.address(), 4) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(captured.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  SECTION("a captured non-blocking stream does not close it") {
    Captured captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    CHECK(cuMemcpyDtoH_v2(&value, words.address(), 4) == CUDA_SUCCESS);
    CHECK(captured.end() == CUDA_SUCCESS);
  }
  CHECK(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_CASE("a capture is ended in the thread that began it, unless it is relaxed", "[simgpu][capture]") {
  TestContext context;
  Captured captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUgraph graph = nullptr;
  CHECK(in_thread(context.handle(), [&] { return cuStreamEndCapture(captured.stream, &graph); }) ==
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  CHECK(captured.end() == CUDA_SUCCESS);
}

TEST_CASE("streams that are not captured cannot end a capture, captured ones cannot begin a second", "[simgpu][capture]") {
  TestContext context;
  CUgraph graph = nullptr;
  CUstream idle = nullptr;
  DRIVER_OK(cuStreamCreate(&idle, 0));
  CHECK(cuStreamEndCapture(idle, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  DRIVER_OK(cuStreamDestroy_v2(idle));
  Captured captured;
  CHECK(cuStreamBeginCapture_v2(captured.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("a capture tells its number, its graph and its front", "[simgpu][capture]") {
  TestContext context;
  Words words(1);
  Captured captured;
  DRIVER_OK(cuMemsetD32Async(words.address(), 1, 1, captured.stream));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* front = nullptr;
  std::size_t count = 0;
  DRIVER_OK(cuStreamGetCaptureInfo_v2(captured.stream, &status, &number, &graph, &front, &count));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(number != 0);
  REQUIRE(count == 1);
  CUgraphNode added = nullptr;
  DRIVER_OK(cuGraphAddEmptyNode(&added, graph, front, count));
  DRIVER_OK(cuStreamUpdateCaptureDependencies(captured.stream, &added, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  DRIVER_OK(cuMemsetD32Async(words.address(), 2, 1, captured.stream));
  DRIVER_OK(captured.end());
  CHECK(captured.graph == graph);
  CHECK(node_count(graph) == 3);
  CHECK(edge_count(graph) == 2);
}

TEST_CASE("destroying a stream that is being captured ends its capture", "[simgpu][capture]") {
  TestContext context;
  CUstream stream = nullptr;
  DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DRIVER_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  DRIVER_OK(cuStreamDestroy_v2(stream));
  CHECK(try_alloc() == CUDA_SUCCESS);
}
