// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>

#include "shim/abi/driver_api.h"
#include "shim/abi/nvml_types.h"
#include "shim/entry_table.h"

/// The vendor's functions behind the hooks.
namespace cupool::shim {

/// The driver of this process: its functions by entry, null where this driver lacks one. Constant-initialised; thread-safe.
class RealDriver {
 public:
  constexpr RealDriver() = default;
  RealDriver(const RealDriver&) = delete;
  RealDriver& operator=(const RealDriver&) = delete;

  /// Finds the driver and all its functions. See VendorLibrary::bind for `found`. About 0.2 ms at the first success.
  bool bind(const void* found);
  void* function(Entry entry) const { return functions_[static_cast<std::size_t>(entry)].load(std::memory_order_relaxed); }
  /// Notes an address that the driver's own lookup gave for an entry that it does not export.
  void learn(Entry entry, void* address);
  /// Whether an address belongs to a second copy of the driver. There is one driver in a process: its names lead to the first.
  bool is_other_copy(const void* address) const;

 private:
  std::array<std::atomic<void*>, kEntryCount> functions_{};
  std::atomic<bool> complete_{false};
};
RealDriver& real_driver();

/// NVML of this process, by slot of the preload: only rows that we hook.
bool bind_nvml(const void* found);
void* real_nvml(std::uint32_t slot);

/// One driver function, called like it: `driver::cuMemAlloc_v2(&address, bytes)`.
template <Entry E, class F>
struct DriverFunction;
template <Entry E, class... A>
struct DriverFunction<E, CUresult(A...)> {
  using Pointer = CUresult (*)(A...);

  Pointer pointer() const { return reinterpret_cast<Pointer>(real_driver().function(E)); }
  /// Whether this driver has the function.
  bool exists() const { return pointer() != nullptr; }
  /// CUDA_ERROR_NOT_FOUND where this driver has no such function.
  CUresult operator()(A... arguments) const {
    const Pointer function = pointer();
    return function != nullptr ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
  }
};

/// One NVML function, likewise; NVML_ERROR_FUNCTION_NOT_FOUND where it is missing.
template <std::uint32_t Slot, class F>
struct NvmlFunction;
template <std::uint32_t Slot, class... A>
struct NvmlFunction<Slot, nvmlReturn_t(A...)> {
  using Pointer = nvmlReturn_t (*)(A...);

  Pointer pointer() const { return reinterpret_cast<Pointer>(real_nvml(Slot)); }
  bool exists() const { return pointer() != nullptr; }
  nvmlReturn_t operator()(A... arguments) const {
    const Pointer function = pointer();
    return function != nullptr ? function(arguments...) : NVML_ERROR_FUNCTION_NOT_FOUND;
  }
};

}  // namespace cupool::shim

/// The driver's functions, all of them, under their exported names. Valid once RealDriver::bind() has succeeded, which is before
/// any hook runs.
namespace cupool::driver {
#define CUPOOL_ENTRY(family, treatment, simgpu, exported, base, since, mode) \
  inline constexpr shim::DriverFunction<shim::Entry::exported, decltype(::exported)> exported;
#include "shim/abi/entry_points.def"
}  // namespace cupool::driver

/// The NVML functions that we hook.
namespace cupool::nvml {
#define CUPOOL_NVML_FUNCTION_pass(exported)
#define CUPOOL_NVML_FUNCTION_hook(exported) \
  inline constexpr shim::NvmlFunction<CUPOOL_SLOT_##exported, decltype(::exported)> exported;
#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_NVML_FUNCTION_##treatment(exported)
#include "shim/abi/nvml_points.def"
#undef CUPOOL_NVML_FUNCTION_pass
#undef CUPOOL_NVML_FUNCTION_hook
}  // namespace cupool::nvml
