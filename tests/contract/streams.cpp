// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <vector>

#include "tests/contract/areas.h"

namespace contract {
namespace {

/// Holds a stream up until open() is called: a host function that waits.
class Gate {
 public:
  void close_on(const Driver& driver, CUstream stream) { driver.cuLaunchHostFunc(stream, &Gate::wait, this); }
  void open() { open_.store(true, std::memory_order_release); }

 private:
  static void wait(void* self) {
    while (!static_cast<Gate*>(self)->open_.load(std::memory_order_acquire)) {
    }
  }
  std::atomic<bool> open_{false};
};

void observe_handles(const Driver& driver, Observer& observer) {
  CUstream plain = nullptr, loose = nullptr;
  unsigned flags = 77;
  int priority = 77;
  CUcontext current = nullptr, of_stream = nullptr;
  driver.cuCtxGetCurrent(&current);
  observer.expect("create", driver.cuStreamCreate(&plain, CU_STREAM_DEFAULT), CUDA_SUCCESS, Source::header);
  observer.expect("create_null", driver.cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_flags", driver.cuStreamCreate(&loose, 99), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_priority", driver.cuStreamCreateWithPriority(&loose, CU_STREAM_NON_BLOCKING, -100), CUDA_SUCCESS,
                  Source::header);
  observer.expect("flags", driver.cuStreamGetFlags(loose, &flags), CUDA_SUCCESS, Source::header);
  observer.expect("flags_non_blocking", flags, 1u, Source::header);
  int least = 0, greatest = 0;
  driver.cuCtxGetStreamPriorityRange(&least, &greatest);
  observer.expect("priority", driver.cuStreamGetPriority(loose, &priority), CUDA_SUCCESS, Source::header);
  observer.expect("priority_is_clamped", priority, greatest, Source::header);
  observer.expect("context", driver.cuStreamGetCtx(plain, &of_stream), CUDA_SUCCESS, Source::header);
  observer.expect("context_is_current", of_stream == current, Source::header);
  unsigned long long one = 0, two = 0;
  driver.cuStreamGetId(plain, &one);
  driver.cuStreamGetId(loose, &two);
  observer.expect("ids_differ", one != two, Source::header);
  observer.expect("query_idle", driver.cuStreamQuery(plain), CUDA_SUCCESS, Source::header);
  observer.expect("synchronize_idle", driver.cuStreamSynchronize(plain), CUDA_SUCCESS, Source::header);
  observer.expect("default_stream", driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS, Source::header);
  observer.expect("legacy_handle", driver.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS, Source::header);
  observer.expect("per_thread_handle", driver.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS, Source::header);
  observer.expect("destroy", driver.cuStreamDestroy_v2(plain), CUDA_SUCCESS, Source::header);
  driver.cuStreamDestroy_v2(loose);
}

void observe_progress(const Driver& driver, Observer& observer) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  driver.cuEventCreate(&event, CU_EVENT_DEFAULT);
  observer.expect("event_unrecorded_query", driver.cuEventQuery(event), CUDA_SUCCESS, Source::header);
  observer.expect("event_unrecorded_synchronize", driver.cuEventSynchronize(event), CUDA_SUCCESS, Source::header);
  Gate gate;
  gate.close_on(driver, stream);
  observer.expect("event_record", driver.cuEventRecord(event, stream), CUDA_SUCCESS, Source::header);
  observer.expect("stream_busy", driver.cuStreamQuery(stream), CUDA_ERROR_NOT_READY, Source::header);
  observer.expect("event_pending", driver.cuEventQuery(event), CUDA_ERROR_NOT_READY, Source::header);
  CUdeviceptr block = 0;
  observer.expect("alloc_does_not_wait", driver.cuMemAlloc_v2(&block, 4096), CUDA_SUCCESS, Source::known);
  gate.open();
  observer.expect("event_synchronize", driver.cuEventSynchronize(event), CUDA_SUCCESS, Source::header);
  observer.expect("event_done", driver.cuEventQuery(event), CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(stream);
  observer.expect("stream_idle", driver.cuStreamQuery(stream), CUDA_SUCCESS, Source::header);
  driver.cuMemFree_v2(block);
  driver.cuEventDestroy_v2(event);
  driver.cuStreamDestroy_v2(stream);
}

void observe_times(const Driver& driver, Observer& observer) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  CUstream stream = nullptr;
  float elapsed = -1;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  driver.cuEventCreate(&start, CU_EVENT_DEFAULT);
  driver.cuEventCreate(&end, CU_EVENT_DEFAULT);
  observer.expect("event_create_untimed", driver.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS, Source::header);
  observer.expect("event_create_null", driver.cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("event_create_ipc_timed", driver.cuEventCreate(&untimed, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("elapsed_unrecorded", driver.cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_INVALID_HANDLE, Source::header);
  driver.cuEventRecord(start, stream);
  driver.cuEventRecord(end, stream);
  driver.cuEventRecord(untimed, stream);
  driver.cuStreamSynchronize(stream);
  observer.expect("elapsed", driver.cuEventElapsedTime(&elapsed, start, end), CUDA_SUCCESS, Source::header);
  observer.expect("elapsed_not_negative", elapsed >= 0, Source::header);
  observer.expect("elapsed_untimed", driver.cuEventElapsedTime(&elapsed, start, untimed), CUDA_ERROR_INVALID_HANDLE,
                  Source::header);
  Gate gate;
  gate.close_on(driver, stream);
  driver.cuEventRecord(end, stream);
  observer.expect("elapsed_pending", driver.cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_NOT_READY, Source::header);
  gate.open();
  driver.cuStreamSynchronize(stream);
  driver.cuEventDestroy_v2(start);
  driver.cuEventDestroy_v2(end);
  driver.cuEventDestroy_v2(untimed);
  driver.cuStreamDestroy_v2(stream);
}

void observe_order_between_streams(const Driver& driver, Observer& observer) {
  CUstream first = nullptr, second = nullptr;
  CUevent event = nullptr;
  driver.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
  driver.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
  driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  Gate gate;
  gate.close_on(driver, first);
  driver.cuEventRecord(event, first);
  observer.expect("streams_are_independent", driver.cuStreamSynchronize(second), CUDA_SUCCESS, Source::header);
  observer.expect("wait_event", driver.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS, Source::header);
  observer.expect("wait_holds_the_stream", driver.cuStreamQuery(second), CUDA_ERROR_NOT_READY, Source::header);
  gate.open();
  observer.expect("wait_ends", driver.cuStreamSynchronize(second), CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(first);
  observer.expect("wait_flags", driver.cuStreamWaitEvent(second, event, 77), CUDA_ERROR_INVALID_VALUE, Source::header);

  CUstream blocking = nullptr;
  driver.cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
  CUdeviceptr block = 0;
  driver.cuMemAlloc_v2(&block, 4096);
  driver.cuMemsetD8_v2(block, 0, 16);
  driver.cuCtxSynchronize();
  Gate held;
  held.close_on(driver, blocking);
  driver.cuMemsetD8Async(block, 5, 1, nullptr);  // the legacy stream comes after all blocking streams
  observer.expect("legacy_waits_for_blocking", driver.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY, Source::header);
  observer.expect("legacy_does_not_hold_non_blocking", driver.cuStreamQuery(first), CUDA_SUCCESS, Source::header);
  held.open();
  observer.expect("legacy_ends", driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS, Source::header);
  driver.cuMemFree_v2(block);
  driver.cuStreamDestroy_v2(blocking);
  driver.cuEventDestroy_v2(event);
  driver.cuStreamDestroy_v2(first);
  driver.cuStreamDestroy_v2(second);
}

void observe_callbacks(const Driver& driver, Observer& observer) {
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  static std::vector<int> order;
  order.clear();
  static std::atomic<int> inner{-1};
  static const Driver* inside = nullptr;
  inside = &driver;
  for (int index = 0; index < 5; ++index) {
    driver.cuLaunchHostFunc(
        stream, [](void* number) { order.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(number))); },
        reinterpret_cast<void*>(static_cast<std::intptr_t>(index)));
  }
  observer.expect(
      "callback",
      driver.cuStreamAddCallback(
          stream, [](CUstream, CUresult status, void*) { order.push_back(status == CUDA_SUCCESS ? 5 : -1); }, nullptr, 0),
      CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(stream);
  observer.expect("host_functions_run_in_order", order == std::vector<int>{0, 1, 2, 3, 4, 5}, Source::header);
  driver.cuLaunchHostFunc(
      stream,
      [](void*) {
        CUdeviceptr pointer = 0;
        inner.store(inside->cuMemAlloc_v2(&pointer, 512));
      },
      nullptr);
  driver.cuStreamSynchronize(stream);
  observer.open("host_function_may_not_call_the_driver", inner.load() != CUDA_SUCCESS);
  observer.expect("host_function_null", driver.cuLaunchHostFunc(stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE, Source::open);
  observer.expect("callback_flags",
                  driver.cuStreamAddCallback(
                      stream, [](CUstream, CUresult, void*) {}, nullptr, 7),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  driver.cuStreamDestroy_v2(stream);
}

void observe_destruction(const Driver& driver, Observer& observer) {
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  static std::atomic<bool> ran{false};
  ran.store(false);
  Gate gate;
  gate.close_on(driver, stream);
  driver.cuLaunchHostFunc(
      stream, [](void*) { ran.store(true); }, nullptr);
  observer.expect("destroy_busy", driver.cuStreamDestroy_v2(stream), CUDA_SUCCESS, Source::header);
  gate.open();
  driver.cuCtxSynchronize();
  observer.expect("destroyed_stream_still_finishes", ran.load(), Source::header);
}

}  // namespace

void observe_streams(const Driver& driver, Observer& observer) {
  observer.area("stream");
  observe_handles(driver, observer);
  observe_progress(driver, observer);
  observe_times(driver, observer);
  observe_order_between_streams(driver, observer);
  observe_callbacks(driver, observer);
  observe_destruction(driver, observer);
}

}  // namespace contract
