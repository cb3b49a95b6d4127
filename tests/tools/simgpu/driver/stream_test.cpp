// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

struct TestStream {
  explicit TestStream(unsigned flags = CU_STREAM_DEFAULT) { DRIVER_OK(cuStreamCreate(&handle, flags)); }
  ~TestStream() { cuStreamDestroy_v2(handle); }
  CUstream handle = nullptr;
};

struct TestEvent {
  explicit TestEvent(unsigned flags = CU_EVENT_DEFAULT) { DRIVER_OK(cuEventCreate(&handle, flags)); }
  ~TestEvent() { cuEventDestroy_v2(handle); }
  CUevent handle = nullptr;
};

}  // namespace

TEST_CASE("a stream is not ready while its work is held up, and ready after it", "[simgpu][stream]") {
  TestContext context;
  TestStream stream;
  TestEvent event;
  Gate gate;
  CHECK(cuStreamQuery(stream.handle) == CUDA_SUCCESS);
  gate.hold(stream.handle);
  DRIVER_OK(cuEventRecord(event.handle, stream.handle));
  CHECK(cuStreamQuery(stream.handle) == CUDA_ERROR_NOT_READY);
  CHECK(cuEventQuery(event.handle) == CUDA_ERROR_NOT_READY);
  gate.open();
  DRIVER_OK(cuEventSynchronize(event.handle));
  CHECK(cuStreamQuery(stream.handle) == CUDA_SUCCESS);
}

TEST_CASE("the legacy default stream waits for blocking streams and they for it", "[simgpu][stream]") {
  TestContext context;
  TestStream blocking;
  TestStream later;
  Words words(1);
  Gate gate;
  gate.hold(blocking.handle);
  DRIVER_OK(cuMemsetD32Async(words.address(), 5, 1, nullptr));
  DRIVER_OK(cuMemsetD32Async(words.address(), 6, 1, later.handle));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(later.handle) == CUDA_ERROR_NOT_READY);
  CHECK(words[0] == 0);
  gate.open();
  DRIVER_OK(cuStreamSynchronize(later.handle));
  CHECK(words[0] == 6);
}

TEST_CASE("a non-blocking stream passes the legacy default stream by", "[simgpu][stream]") {
  TestContext context;
  TestStream free_running(CU_STREAM_NON_BLOCKING);
  Words words(1);
  Gate gate;
  gate.hold(nullptr);
  DRIVER_OK(cuMemsetD32Async(words.address(), 5, 1, free_running.handle));
  DRIVER_OK(cuStreamSynchronize(free_running.handle));
  CHECK(words[0] == 5);
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  gate.open();
  DRIVER_OK(cuCtxSynchronize());
}

TEST_CASE("per-thread default streams of two threads are two streams", "[simgpu][stream]") {
  TestContext context;
  Gate gate;
  gate.hold(CU_STREAM_PER_THREAD);
  CHECK(cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_NOT_READY);
  CUresult other = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    cuCtxSetCurrent(context.handle());
    other = cuStreamQuery(CU_STREAM_PER_THREAD);
  }).join();
  CHECK(other == CUDA_SUCCESS);
  gate.open();
  DRIVER_OK(cuStreamSynchronize_ptsz(nullptr));
}

TEST_CASE("the _ptds form of a copy uses the calling thread's stream, the plain one the legacy stream", "[simgpu][stream]") {
  TestContext context;
  Words words(1, 3);
  Gate gate;
  TestStream blocking;
  gate.hold(blocking.handle);
  std::uint32_t value = 0;
  // Would wait for ever in the legacy stream, which stands behind the gate.
  DRIVER_OK(cuMemcpyDtoH_v2_ptds(&value, words.address(), sizeof value));
  CHECK(value == 3);
  gate.open();
}

TEST_CASE("work behind an event wait starts after the event, in whatever stream", "[simgpu][stream]") {
  TestContext context;
  TestStream first(CU_STREAM_NON_BLOCKING);
  TestStream second(CU_STREAM_NON_BLOCKING);
  TestEvent event;
  Words words(1, 1);
  Gate gate;
  gate.hold(first.handle);
  DRIVER_OK(cuMemsetD32Async(words.address(), 2, 1, first.handle));
  DRIVER_OK(cuEventRecord(event.handle, first.handle));
  DRIVER_OK(cuStreamWaitEvent(second.handle, event.handle, 0));
  DRIVER_OK(cuMemsetD32Async(words.address(), 3, 1, second.handle));
  CHECK(cuStreamQuery(second.handle) == CUDA_ERROR_NOT_READY);
  gate.open();
  DRIVER_OK(cuStreamSynchronize(second.handle));
  CHECK(words[0] == 3);
}

TEST_CASE("an event that is recorded again stands for the later place", "[simgpu][stream]") {
  TestContext context;
  TestStream stream;
  TestEvent event;
  Gate gate;
  DRIVER_OK(cuEventRecord(event.handle, stream.handle));
  DRIVER_OK(cuEventSynchronize(event.handle));
  gate.hold(stream.handle);
  DRIVER_OK(cuEventRecord(event.handle, stream.handle));
  CHECK(cuEventQuery(event.handle) == CUDA_ERROR_NOT_READY);
  gate.open();
  DRIVER_OK(cuEventSynchronize(event.handle));
}

TEST_CASE("elapsed time grows with the work between two events", "[simgpu][stream]") {
  TestContext context;
  TestStream stream;
  TestEvent start;
  TestEvent middle;
  TestEvent end;
  Words words(1 << 20);
  DRIVER_OK(cuEventRecord(start.handle, stream.handle));
  DRIVER_OK(cuMemsetD32Async(words.address(), 1, 16, stream.handle));
  DRIVER_OK(cuEventRecord(middle.handle, stream.handle));
  DRIVER_OK(cuMemsetD32Async(words.address(), 1, 1 << 20, stream.handle));
  DRIVER_OK(cuEventRecord(end.handle, stream.handle));
  DRIVER_OK(cuStreamSynchronize(stream.handle));
  float small = 0;
  float large = 0;
  DRIVER_OK(cuEventElapsedTime_v2(&small, start.handle, middle.handle));
  DRIVER_OK(cuEventElapsedTime(&large, middle.handle, end.handle));
  CHECK(small > 0);
  CHECK(large > small);
}

TEST_CASE("events that cannot measure, or have not happened, say so", "[simgpu][stream]") {
  TestContext context;
  TestStream stream;
  TestEvent timed;
  TestEvent never;
  TestEvent untimed(CU_EVENT_DISABLE_TIMING);
  Gate gate;
  float milliseconds = 0;
  DRIVER_OK(cuEventRecord(timed.handle, stream.handle));
  DRIVER_OK(cuEventRecord(untimed.handle, stream.handle));
  CHECK(cuEventElapsedTime(&milliseconds, timed.handle, untimed.handle) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventElapsedTime(&milliseconds, timed.handle, never.handle) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventQuery(never.handle) == CUDA_SUCCESS);
  gate.hold(stream.handle);
  DRIVER_OK(cuEventRecord(never.handle, stream.handle));
  CHECK(cuEventElapsedTime(&milliseconds, timed.handle, never.handle) == CUDA_ERROR_NOT_READY);
  gate.open();
}

TEST_CASE("a destroyed busy stream completes its work, and its handle is dead at once", "[simgpu][stream]") {
  TestContext context;
  Words words(1);
  Gate gate;
  CUstream stream = nullptr;
  DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  gate.hold(stream);
  DRIVER_OK(cuMemsetD32Async(words.address(), 9, 1, stream));
  DRIVER_OK(cuStreamDestroy_v2(stream));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(words[0] == 0);
  gate.open();
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 9);
}

TEST_CASE("freeing memory waits for the work that uses it", "[simgpu][stream]") {
  TestContext context;
  TestStream stream(CU_STREAM_NON_BLOCKING);
  Words kept(1);
  CUdeviceptr freed = 0;
  DRIVER_OK(cuMemAlloc_v2(&freed, 4096));
  DRIVER_OK(cuMemsetD32_v2(freed, 77, 1));
  DRIVER_OK(cuCtxSynchronize());
  Gate gate;
  gate.hold(stream.handle);
  DRIVER_OK(cuMemcpyDtoDAsync_v2(kept.address(), freed, 4, stream.handle));
  std::atomic<bool> is_free{false};
  std::thread freeing([&] {
    cuCtxSetCurrent(context.handle());
    cuMemFree_v2(freed);
    is_free = true;
  });
  CHECK(cuStreamQuery(stream.handle) == CUDA_ERROR_NOT_READY);
  CHECK_FALSE(is_free);
  gate.open();
  freeing.join();
  CHECK(kept[0] == 77);
}

TEST_CASE("host functions run in stream order and may not call the driver", "[simgpu][stream]") {
  TestContext context;
  TestStream stream;
  struct Seen {
    std::vector<int> order;
    CUresult inside = CUDA_SUCCESS;
  } seen;
  DRIVER_OK(cuLaunchHostFunc(
      stream.handle,
      [](void* data) {
        static_cast<Seen*>(data)->order.push_back(1);
        int count = 0;
        static_cast<Seen*>(data)->inside = cuDeviceGetCount(&count);
      },
      &seen));
  DRIVER_OK(cuStreamAddCallback(
      stream.handle,
      [](CUstream, CUresult status, void* data) { static_cast<Seen*>(data)->order.push_back(status == CUDA_SUCCESS ? 2 : -2); },
      &seen, 0));
  DRIVER_OK(cuStreamSynchronize(stream.handle));
  CHECK(seen.order == std::vector<int>{1, 2});
  CHECK(seen.inside == CUDA_ERROR_NOT_PERMITTED);
}

TEST_CASE("an asynchronous copy from pageable memory takes the bytes of the moment of the call", "[simgpu][stream]") {
  TestContext context;
  TestStream stream(CU_STREAM_NON_BLOCKING);
  Words words(1);
  Gate gate;
  gate.hold(stream.handle);
  std::uint32_t source = 11;
  DRIVER_OK(cuMemcpyHtoDAsync_v2(words.address(), &source, sizeof source, stream.handle));
  source = 12;
  gate.open();
  DRIVER_OK(cuStreamSynchronize(stream.handle));
  CHECK(words[0] == 11);
}

TEST_CASE("an asynchronous copy from pinned memory takes the bytes when it runs", "[simgpu][stream]") {
  TestContext context;
  TestStream stream(CU_STREAM_NON_BLOCKING);
  Words words(1);
  Gate gate;
  void* memory = nullptr;
  DRIVER_OK(cuMemHostAlloc(&memory, 4096, 0));
  auto* source = static_cast<std::uint32_t*>(memory);
  *source = 11;
  gate.hold(stream.handle);
  DRIVER_OK(cuMemcpyHtoDAsync_v2(words.address(), source, sizeof *source, stream.handle));
  *source = 12;
  gate.open();
  DRIVER_OK(cuStreamSynchronize(stream.handle));
  CHECK(words[0] == 12);
  DRIVER_OK(cuMemFreeHost(memory));
}

TEST_CASE("values are written and awaited in stream order", "[simgpu][stream]") {
  TestContext context;
  TestStream writer(CU_STREAM_NON_BLOCKING);
  TestStream waiter(CU_STREAM_NON_BLOCKING);
  Words words(2);
  DRIVER_OK(cuStreamWaitValue32_v2(waiter.handle, words.address(), 4, CU_STREAM_WAIT_VALUE_GEQ));
  DRIVER_OK(cuMemsetD32Async(words.address() + 4, 1, 1, waiter.handle));
  DRIVER_OK(cuStreamWriteValue32_v2(writer.handle, words.address(), 3, 0));
  DRIVER_OK(cuStreamSynchronize(writer.handle));
  CHECK(cuStreamQuery(waiter.handle) == CUDA_ERROR_NOT_READY);
  DRIVER_OK(cuStreamWriteValue32_v2(writer.handle, words.address(), 4, 0));
  DRIVER_OK(cuStreamSynchronize(waiter.handle));
  CHECK(words[1] == 1);
}

TEST_CASE("priorities are kept within the device's range", "[simgpu][stream]") {
  TestContext context;
  int least = 0;
  int greatest = 0;
  DRIVER_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  for (const auto& [asked, given] : {std::array{-100, greatest}, std::array{100, least}, std::array{-1, -1}}) {
    CUstream stream = nullptr;
    int priority = 1;
    DRIVER_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, asked));
    DRIVER_OK(cuStreamGetPriority(stream, &priority));
    CHECK(priority == given);
    DRIVER_OK(cuStreamDestroy_v2(stream));
  }
}

TEST_CASE("what is no stream is refused, and the default streams cannot be destroyed", "[simgpu][stream]") {
  TestContext context;
  CHECK(cuStreamQuery(reinterpret_cast<CUstream>(0x1234)) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy_v2(nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy_v2(CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_HANDLE);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 0x40) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a context ends although a wait in it never ends", "[simgpu][stream]") {
  start_machine();
  CUcontext context = nullptr;
  DRIVER_OK(cuCtxCreate_v2(&context, 0, 0));
  auto* const gate = new Gate;
  gate->hold(nullptr);
  CHECK(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
  TestContext next;
  Words words(1, 4);
  CHECK(words[0] == 4);
}

TEST_CASE("streams, copies and events of many threads in one context do not disturb one another", "[simgpu][stream]") {
  TestContext context;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      cuCtxSetCurrent(context.handle());
      CUstream stream = nullptr;
      CUdeviceptr memory = 0;
      cuStreamCreate(&stream, t % 2);
      cuMemAlloc_v2(&memory, 4096);
      for (std::uint32_t i = 0; i < 100; ++i) {
        std::uint32_t value = 0;
        cuMemsetD32Async(memory, t * 1000 + i, 8, stream);
        cuMemcpyDtoDAsync_v2(memory + 64, memory, 32, stream);
        cuMemcpyDtoHAsync_v2(&value, memory + 64 + 28, 4, stream);
        cuStreamSynchronize(stream);
        if (value == t * 1000 + i) ++right;
      }
      cuMemFree_v2(memory);
      cuStreamDestroy_v2(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 400);
}
