// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime.h"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "shim/abi/runtime_types.h"
#include "shim/attachment.h"
#include "shim/boundary.h"
#include "shim/vendor_library.h"

namespace cupool::shim {
namespace {

/// CUDA_ERROR_STUB_LIBRARY, under the same number in the runtime.
constexpr cudaError_t kNoRuntime = 34;

/// Remembers, by return address, which function a call site reaches: finding it costs about a microsecond, and a program has few
/// call sites. A full neighbourhood costs a search again, nothing else.
class CallSites {
 public:
  void* find(const void* caller) const {
    for (std::size_t i = 0; i < kNeighbours; ++i) {
      const Cell& cell = cells_[(index_of(caller) + i) % kCells];
      // Acquire: the function was stored before the caller that names it.
      if (cell.caller.load(std::memory_order_acquire) == caller) return cell.function.load(std::memory_order_relaxed);
    }
    return nullptr;
  }
  void remember(const void* caller, void* function) {
    for (std::size_t i = 0; i < kNeighbours; ++i) {
      Cell& cell = cells_[(index_of(caller) + i) % kCells];
      const void* none = nullptr;
      if (!cell.claimed.compare_exchange_strong(none, caller, std::memory_order_relaxed)) continue;
      cell.function.store(function, std::memory_order_relaxed);
      cell.caller.store(caller, std::memory_order_release);
      return;
    }
  }

 private:
  static constexpr std::size_t kCells = 128;
  static constexpr std::size_t kNeighbours = 8;
  struct Cell {
    std::atomic<const void*> claimed{nullptr};
    std::atomic<const void*> caller{nullptr};
    std::atomic<void*> function{nullptr};
  };
  static std::size_t index_of(const void* caller) {
    return (reinterpret_cast<std::uintptr_t>(caller) * 0x9E3779B97F4A7C15u) >> (64 - 7);
  }

  std::array<Cell, kCells> cells_{};
};

template <std::uint32_t Slot, class... A>
struct RuntimeGate {
  static cudaError_t call(A... arguments) {
    const void* caller = __builtin_return_address(0);
    static constinit CallSites sites;
    void* function = sites.find(caller);
    if (function == nullptr) {
      function = runtime_function_for(caller, slot_name(Slot));
      if (function == nullptr) return kNoRuntime;
      sites.remember(caller, function);
    }
    start_session();
    return Counted<Timing::timed>(Slot)(reinterpret_cast<cudaError_t (*)(A...)>(function)(arguments...));
  }
};

}  // namespace

void* runtime_hook_of(std::uint32_t slot) {
  switch (slot) {
#define CUPOOL_RUNTIME(exported, ...) \
  case CUPOOL_SLOT_##exported:        \
    return reinterpret_cast<void*>(&RuntimeGate<CUPOOL_SLOT_##exported, __VA_ARGS__>::call);
#include "shim/abi/runtime_points.def"
    default:
      return nullptr;
  }
}

void* runtime_function_for(const void* caller, const char* name) {
  const cupool_preload& loader = *preload();
  const LoadedObject object = object_of(caller);
  void* library = object.base != nullptr && object.file[0] != '\0' ? loader.dlopen(object.file, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  // The reference that dlopen took is kept with the answer: an address handed out once stays valid.
  void* function = library != nullptr ? loader.dlsym(library, name) : nullptr;
  if (function != nullptr && loader.is_ours(function) == 0) return function;
  return loader.find_beyond(reinterpret_cast<const void*>(loader.stub_answer), name);
}

}  // namespace cupool::shim
