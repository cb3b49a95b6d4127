// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/contract/areas.h"

namespace contract {
namespace {

void observe_without_context(const Driver& driver, Observer& observer) {
  CUcontext context = reinterpret_cast<CUcontext>(1);
  CUdevice device = -1;
  CUdeviceptr pointer = 77;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  std::size_t free_bytes = 0, total = 0;
  observer.expect("none_current", driver.cuCtxGetCurrent(&context), CUDA_SUCCESS, Source::header);
  observer.expect("none_current_is_null", context == nullptr, Source::header);
  observer.expect("none_device", driver.cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_synchronize", driver.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_alloc", driver.cuMemAlloc_v2(&pointer, 512), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_alloc_leaves_output", pointer, CUdeviceptr{77}, Source::known);
  observer.expect("none_info", driver.cuMemGetInfo_v2(&free_bytes, &total), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_stream", driver.cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_event", driver.cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_pop", driver.cuCtxPopCurrent_v2(&context), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("none_set_null", driver.cuCtxSetCurrent(nullptr), CUDA_SUCCESS, Source::header);
  observer.expect("current_null", driver.cuCtxGetCurrent(nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
}

void observe_primary(const Driver& driver, Observer& observer) {
  unsigned flags = 77;
  int active = -1;
  CUcontext first = nullptr, second = nullptr;
  observer.expect("primary_state", driver.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS, Source::header);
  observer.expect("primary_inactive", active, 0, Source::header);
  observer.expect("primary_release_unretained", driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT, Source::header);
  observer.expect("primary_retain_null", driver.cuDevicePrimaryCtxRetain(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("primary_retain_bad_device", driver.cuDevicePrimaryCtxRetain(&first, 4711), CUDA_ERROR_INVALID_DEVICE,
                  Source::header);
  observer.expect("primary_retain", driver.cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS, Source::header);
  observer.expect("primary_retain_again", driver.cuDevicePrimaryCtxRetain(&second, 0), CUDA_SUCCESS, Source::header);
  observer.expect("primary_is_one", first == second && first != nullptr, Source::header);
  driver.cuDevicePrimaryCtxGetState(0, &flags, &active);
  observer.expect("primary_active", active, 1, Source::header);
  CUcontext current = reinterpret_cast<CUcontext>(1);
  driver.cuCtxGetCurrent(&current);
  observer.expect("primary_retain_does_not_make_current", current == nullptr, Source::header);
  observer.expect("primary_set", driver.cuCtxSetCurrent(first), CUDA_SUCCESS, Source::header);
  CUdevice device = -1;
  observer.expect("primary_device", driver.cuCtxGetDevice(&device), CUDA_SUCCESS, Source::header);
  observer.expect("primary_device_0", device, 0, Source::header);
  observer.open("primary_destroy", driver.cuCtxDestroy_v2(first) == CUDA_SUCCESS);
  driver.cuCtxSetCurrent(nullptr);
  observer.expect("primary_release", driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS, Source::header);
  observer.expect("primary_release_last", driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS, Source::header);
  driver.cuDevicePrimaryCtxGetState(0, &flags, &active);
  observer.expect("primary_inactive_again", active, 0, Source::header);
  observer.expect("primary_flags_nonsense", driver.cuDevicePrimaryCtxSetFlags_v2(0, 0xF000), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
}

void observe_stack(const Driver& driver, Observer& observer) {
  CUcontext one = nullptr, two = nullptr, current = nullptr, popped = nullptr;
  observer.expect("create", driver.cuCtxCreate_v2(&one, 0, 0), CUDA_SUCCESS, Source::header);
  driver.cuCtxGetCurrent(&current);
  observer.expect("create_makes_current", current == one, Source::header);
  observer.expect("create_null", driver.cuCtxCreate_v2(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_bad_device", driver.cuCtxCreate_v2(&two, 0, 4711), CUDA_ERROR_INVALID_DEVICE, Source::header);
  observer.expect("create_bad_flags", driver.cuCtxCreate_v2(&two, 0x7, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_second", driver.cuCtxCreate_v2(&two, 0, 0), CUDA_SUCCESS, Source::header);
  observer.expect("pop", driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS, Source::header);
  observer.expect("pop_gives_top", popped == two, Source::header);
  driver.cuCtxGetCurrent(&current);
  observer.expect("pop_reveals_one_below", current == one, Source::header);
  observer.expect("push", driver.cuCtxPushCurrent_v2(two), CUDA_SUCCESS, Source::header);
  unsigned flags = 77, version = 0;
  observer.expect("flags", driver.cuCtxGetFlags(&flags), CUDA_SUCCESS, Source::header);
  observer.expect("flags_null", driver.cuCtxGetFlags(nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("api_version", driver.cuCtxGetApiVersion(two, &version), CUDA_SUCCESS, Source::header);
  observer.expect("api_version_sensible", version >= 3010, Source::known);

  CUcontext in_thread = reinterpret_cast<CUcontext>(1);
  std::thread([&] { driver.cuCtxGetCurrent(&in_thread); }).join();
  observer.expect("a_new_thread_has_no_context", in_thread == nullptr, Source::header);

  observer.expect("destroy_current", driver.cuCtxDestroy_v2(two), CUDA_SUCCESS, Source::header);
  driver.cuCtxGetCurrent(&current);
  observer.expect("destroy_current_pops", current == one, Source::header);
  CUdeviceptr block = 0;
  driver.cuMemAlloc_v2(&block, 4096);
  observer.expect("destroy", driver.cuCtxDestroy_v2(one), CUDA_SUCCESS, Source::header);
  observer.expect("destroy_null", driver.cuCtxDestroy_v2(nullptr), CUDA_ERROR_INVALID_VALUE, Source::open);
  driver.cuCtxGetCurrent(&current);
  observer.expect("nothing_left", current == nullptr, Source::header);

  CUcontext other = nullptr;
  driver.cuCtxCreate_v2(&other, 0, 0);
  observer.expect("destroy_frees_its_memory", driver.cuMemFree_v2(block), CUDA_ERROR_INVALID_VALUE, Source::header);
  driver.cuCtxDestroy_v2(other);
}

void observe_settings(const Driver& driver, Observer& observer) {
  CUcontext context = nullptr;
  driver.cuCtxCreate_v2(&context, 0, 0);
  std::size_t value = 0;
  observer.expect("limit_stack", driver.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS, Source::header);
  observer.expect("limit_stack_1024", value, std::size_t{1024}, Source::known);
  observer.expect("limit_heap", driver.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS, Source::header);
  observer.expect("limit_heap_8_mib", value, std::size_t{8} << 20, Source::known);
  observer.expect("limit_set", driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), CUDA_SUCCESS, Source::header);
  driver.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
  observer.expect("limit_set_is_kept", value >= 4096, Source::header);
  observer.expect("limit_unknown", driver.cuCtxGetLimit(&value, static_cast<CUlimit>(999)), CUDA_ERROR_UNSUPPORTED_LIMIT,
                  Source::header);
  observer.expect("limit_null", driver.cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUfunc_cache cache{};
  observer.expect("cache", driver.cuCtxGetCacheConfig(&cache), CUDA_SUCCESS, Source::header);
  int least = 77, greatest = 77;
  observer.expect("priorities", driver.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS, Source::header);
  observer.expect("priorities_least_0", least, 0, Source::known);
  observer.expect("priorities_ordered", greatest <= least, Source::header);
  observer.expect("priorities_nulls", driver.cuCtxGetStreamPriorityRange(nullptr, nullptr), CUDA_SUCCESS, Source::header);
  observer.expect("synchronize_idle", driver.cuCtxSynchronize(), CUDA_SUCCESS, Source::header);
  observer.open("peer_with_itself", driver.cuCtxEnablePeerAccess(context, 0));
  observer.expect("peer_flags", driver.cuCtxEnablePeerAccess(context, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  driver.cuCtxDestroy_v2(context);
}

void observe_reset(const Driver& driver, Observer& observer) {
  CUcontext context = nullptr;
  CUdeviceptr block = 0;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  driver.cuMemAlloc_v2(&block, 1 << 20);
  observer.expect("reset", driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS, Source::header);
  driver.cuCtxSetCurrent(nullptr);
  driver.cuDevicePrimaryCtxRelease_v2(0);
  unsigned flags = 0;
  int active = -1;
  driver.cuDevicePrimaryCtxGetState(0, &flags, &active);
  observer.expect("reset_makes_inactive", active, 0, Source::header);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  observer.expect("reset_frees_memory", driver.cuMemFree_v2(block), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUdeviceptr again = 0;
  observer.expect("usable_after_reset", driver.cuMemAlloc_v2(&again, 4096), CUDA_SUCCESS, Source::header);
  driver.cuMemFree_v2(again);
  driver.cuCtxSetCurrent(nullptr);
  driver.cuDevicePrimaryCtxRelease_v2(0);
}

}  // namespace

void observe_contexts(const Driver& driver, Observer& observer) {
  observer.area("context");
  observe_without_context(driver, observer);
  observe_primary(driver, observer);
  observe_stack(driver, observer);
  observe_settings(driver, observer);
  observe_reset(driver, observer);
}

}  // namespace contract
