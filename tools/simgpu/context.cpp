// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/context.h"

#include <pthread.h>

#include <algorithm>

#include "tools/simgpu/context_memory.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/page_table.h"

namespace cupool::simgpu {
namespace {

// Relaxed: uniqueness is all.
std::atomic<std::uint64_t> g_context_ids{1};

// Limits of a fresh context: what the driver reports for its defaults on current devices.
constexpr std::size_t kStackBytes = 1024;
constexpr std::size_t kPrintfBytes = 1 << 20;
constexpr std::size_t kHeapBytes = 8 << 20;

thread_local ThreadContexts* t_contexts = nullptr;

// On the thread that ends; a call that one of its later destructors makes starts over with an empty stack.
void delete_thread_contexts(void* contexts) {
  delete static_cast<ThreadContexts*>(contexts);
  t_contexts = nullptr;
}

// Not a thread_local object: that would be destroyed before the last calls of a process that exits from its main thread.
ThreadContexts* make_thread_contexts() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, &delete_thread_contexts);
    return made;
  }();
  auto* made = new ThreadContexts;
  pthread_setspecific(key, made);
  return made;
}

}  // namespace

Context::Context(Device& device, Kind kind, unsigned context_flags, unsigned api_version, Charge overhead)
    : flags(context_flags),
      device_(device),
      id_(g_context_ids.fetch_add(1, std::memory_order_relaxed)),
      kind_(kind),
      api_version_(api_version),
      overhead_(std::move(overhead)) {
  reset_settings();
}

void Context::reset_settings() {
  limits[CU_LIMIT_STACK_SIZE] = kStackBytes;
  limits[CU_LIMIT_PRINTF_FIFO_SIZE] = kPrintfBytes;
  limits[CU_LIMIT_MALLOC_HEAP_SIZE] = kHeapBytes;
  limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  cache_config = CU_FUNC_CACHE_PREFER_NONE;
  attach_count = 1;
  peers.clear();
}

Context::~Context() = default;

std::shared_ptr<Context> Context::from_handle(CUcontext handle) {
  return contexts().find(handle);
}

void Context::fail(CUresult code) {
  int expected = CUDA_SUCCESS;
  sticky_.compare_exchange_strong(expected, code, std::memory_order_acq_rel);
}

ContextTable& contexts() {
  static ContextTable* const made = new ContextTable;
  return *made;
}

CUresult ContextTable::create(Device& device, Context::Kind kind, unsigned flags, unsigned api_version,
                              std::shared_ptr<Context>& made) {
  auto overhead = Charge::take(device, protocol::Purpose::context, context_overhead_bytes(device));
  if (!overhead) return overhead.error().code == Errc::no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  auto context = std::make_shared<Context>(device, kind, flags, api_version, std::move(*overhead));
  execution_attach(*context);
  const std::lock_guard lock(mutex_);
  live_.push_back(context);
  made = std::move(context);
  return CUDA_SUCCESS;
}

CUresult ContextTable::revive(const std::shared_ptr<Context>& context, unsigned flags) {
  auto overhead = Charge::take(context->device(), protocol::Purpose::context, context_overhead_bytes(context->device()));
  if (!overhead) return overhead.error().code == Errc::no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  context->overhead_ = std::move(*overhead);
  context->id_.store(g_context_ids.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  context->sticky_.store(CUDA_SUCCESS, std::memory_order_relaxed);
  {
    const std::lock_guard settings(context->settings_mutex);
    context->reset_settings();
    context->flags = flags;
  }
  execution_attach(*context);
  context->destroyed_.store(false, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  live_.push_back(context);
  return CUDA_SUCCESS;
}

void ContextTable::destroy(const std::shared_ptr<Context>& context) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(live_, context);
  }
  // Destroyed first, so that no new work comes in; then the work that runs; then the memory that it used.
  context->destroyed_.store(true, std::memory_order_release);
  execution_detach(*context);
  free_context_memory(*context);
  context->overhead_.give_back();
}

std::shared_ptr<Context> ContextTable::find(CUcontext handle) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(live_.begin(), live_.end(), [&](const auto& one) { return one->handle() == handle; });
  return found == live_.end() ? nullptr : *found;
}

std::vector<std::shared_ptr<Context>> ContextTable::all() {
  const std::lock_guard lock(mutex_);
  return live_;
}

PrimaryContext& primary_context(const Device& device) {
  static auto* const table = new std::array<PrimaryContext, kMaxDevices>;
  return (*table)[static_cast<std::size_t>(device.ordinal)];
}

ThreadContexts& thread_contexts() {
  if (t_contexts == nullptr) t_contexts = make_thread_contexts();
  return *t_contexts;
}

Context* current_context() {
  ThreadContexts& mine = thread_contexts();
  return mine.stack.empty() ? nullptr : mine.stack.back().get();
}

}  // namespace cupool::simgpu
