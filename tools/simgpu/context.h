// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/charge.h"
#include "tools/simgpu/device.h"

/// The object behind a CUcontext, by the tag that the driver's header gives it.
struct CUctx_st {};

namespace cupool::simgpu {

class ContextExecution;

/// A context: one process's share of one device. A CUcontext is the address of one.
///
/// Thread-safe. Contexts are shared objects: a destroyed one stays as a tombstone for as long as some thread has it in its stack,
/// so that calls there can say 709. What runs in it (streams, events, modules) is the business of ContextExecution (execution.h).
class Context : public CUctx_st {
 public:
  enum class Kind { primary, created };

  Context(Device& device, Kind kind, unsigned flags, unsigned api_version, Charge overhead);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() const { return device_; }
  /// Of this life of the context: a primary context that was reset or released comes back as the same object with another number.
  std::uint64_t id() const { return id_.load(std::memory_order_relaxed); }
  bool is_primary() const { return kind_ == Kind::primary; }
  unsigned api_version() const { return api_version_; }
  CUcontext handle() { return static_cast<CUcontext>(this); }

  /// The live context of a handle, null for anything else. A created context that was destroyed is null here.
  static std::shared_ptr<Context> from_handle(CUcontext handle);

  /// A fault: every later call in this context answers `code`. The first one stays.
  void fail(CUresult code);
  /// CUDA_SUCCESS, or the code of the fault.
  CUresult sticky() const { return static_cast<CUresult>(sticky_.load(std::memory_order_acquire)); }

  bool is_destroyed() const { return destroyed_.load(std::memory_order_acquire); }

  /// Streams, events and modules of this context; null before execution_attach() and after execution_detach().
  std::unique_ptr<ContextExecution> execution;

  /// Settings that do nothing but be remembered. Guarded by settings_mutex.
  std::mutex settings_mutex;
  unsigned flags;
  std::array<std::size_t, CU_LIMIT_MAX> limits{};
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  int attach_count = 1;
  std::set<Context*> peers;  ///< contexts whose memory this one may reach

 private:
  friend class ContextTable;
  void reset_settings();

  Device& device_;
  std::atomic<std::uint64_t> id_;  // relaxed: changes only while nobody uses the context
  Kind kind_;
  unsigned api_version_;
  Charge overhead_;
  // Release by fail(), acquire by sticky(): whoever sees the code sees what led to it.
  std::atomic<int> sticky_{CUDA_SUCCESS};
  std::atomic<bool> destroyed_{false};
};

/// All contexts of the process.
class ContextTable {
 public:
  /// Makes a context and charges its overhead; execution_attach() has run. CUDA_ERROR_OUT_OF_MEMORY when the charge is refused.
  CUresult create(Device& device, Context::Kind kind, unsigned flags, unsigned api_version, std::shared_ptr<Context>& made);

  /// Brings a primary context that has ended back to life under its old handle.
  CUresult revive(const std::shared_ptr<Context>& context, unsigned flags);

  /// Ends a context: stops what runs in it, frees all its memory, marks it destroyed. Called without locks.
  void destroy(const std::shared_ptr<Context>& context);

  std::shared_ptr<Context> find(CUcontext handle);
  std::vector<std::shared_ptr<Context>> all();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Context>> live_;
};
ContextTable& contexts();

/// The primary context of a device: retained and released by count, reset on demand. A reset ends the context and leaves the count:
/// who retained it still has to release it. The handle stays the same for the life of the process.
struct PrimaryContext {
  std::mutex mutex;                  // taken before ContextTable's
  std::shared_ptr<Context> context;  ///< once made it stays; destroyed between its lives
  unsigned retained = 0;
  unsigned flags = 0;
};
PrimaryContext& primary_context(const Device& device);

/// The calling thread's stack of current contexts.
struct ThreadContexts {
  std::vector<std::shared_ptr<Context>> stack;
};
ThreadContexts& thread_contexts();

/// The calling thread's current context, null when there is none; it may be destroyed. Stays valid while it is on this thread's
/// stack.
Context* current_context();

}  // namespace cupool::simgpu
