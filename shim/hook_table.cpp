// SPDX-License-Identifier: Apache-2.0
#include "shim/hook_table.h"

#include "shim/attachment.h"
#include "shim/boundary.h"
#include "shim/hooks/hooks.h"

namespace cupool::shim {
namespace {

constexpr Serve kServe[] = {
#define CUPOOL_FAMILY(family, serve, timing) Serve::serve,
#include "shim/hooks/families.def"
};
constexpr Timing kTiming[] = {
#define CUPOOL_FAMILY(family, serve, timing) Timing::timing,
#include "shim/hooks/families.def"
};

/// The address of a row's gate. `hook::exported` is named only where the family is served by functions: elsewhere it need not
/// exist.
#define CUPOOL_GATE_pass(family, exported) \
  case Entry::exported:                    \
    return nullptr;
#define CUPOOL_GATE_count(family, exported) \
  case Entry::exported:                     \
    return reinterpret_cast<void*>(&Gate<Entry::exported, Timing::timed, decltype(::exported)>::to_driver);
#define CUPOOL_GATE_hook(family, exported)                                                       \
  case Entry::exported:                                                                          \
    return []<Family F>() {                                                                      \
      using RowGate = Gate<Entry::exported, kTiming[static_cast<int>(F)], decltype(::exported)>; \
      if constexpr (kServe[static_cast<int>(F)] == Serve::function) {                            \
        return reinterpret_cast<void*>(&RowGate::template to_hook<&hook::exported>);             \
      } else if constexpr (kServe[static_cast<int>(F)] == Serve::gate) {                         \
        return reinterpret_cast<void*>(&RowGate::through_gate);                                  \
      } else {                                                                                   \
        return reinterpret_cast<void*>(&RowGate::to_driver);                                     \
      }                                                                                          \
    }.template operator()<Family::family>();

void* gate_of(Entry entry) {
  switch (entry) {
#define CUPOOL_ENTRY(family, treatment, simgpu, exported, base, since, mode) CUPOOL_GATE_##treatment(family, exported)
#include "shim/abi/entry_points.def"
  }
  return nullptr;
}

#define CUPOOL_NVML_GATE_pass(exported)
#define CUPOOL_NVML_GATE_hook(exported)                                              \
  case CUPOOL_SLOT_##exported:                                                       \
    return []<Family F>() {                                                          \
      using RowGate = NvmlGate<CUPOOL_SLOT_##exported, decltype(::exported)>;        \
      if constexpr (kServe[static_cast<int>(F)] == Serve::function) {                \
        return reinterpret_cast<void*>(&RowGate::template to_hook<&hook::exported>); \
      } else {                                                                       \
        return reinterpret_cast<void*>(&RowGate::to_nvml);                           \
      }                                                                              \
    }.template operator()<Family::nvml>();

void* nvml_gate_of(std::uint32_t slot) {
  switch (slot) {
#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_NVML_GATE_##treatment(exported)
#include "shim/abi/nvml_points.def"
    default:
      return nullptr;
  }
}

void store_slot(std::uint32_t slot, void* function) {
  __atomic_store_n(&preload()->slots[slot], function, __ATOMIC_RELEASE);
}

}  // namespace

void* hook_of(Entry entry) {
  return real_driver().function(entry) != nullptr ? gate_of(entry) : nullptr;
}

void* nvml_hook_of(std::uint32_t slot) {
  return real_nvml(slot) != nullptr ? nvml_gate_of(slot) : nullptr;
}

void fill_driver_slots() {
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const Entry entry = static_cast<Entry>(i);
    if (row(entry).slot == kNoSlot) continue;
    void* hook = hook_of(entry);
    store_slot(static_cast<std::uint32_t>(row(entry).slot), hook != nullptr ? hook : absent_driver_answer());
  }
}

void fill_nvml_slots() {
#define CUPOOL_FILL_pass(exported)
#define CUPOOL_FILL_hook(exported)   \
  store_slot(CUPOOL_SLOT_##exported, \
             nvml_hook_of(CUPOOL_SLOT_##exported) != nullptr ? nvml_hook_of(CUPOOL_SLOT_##exported) : absent_nvml_answer());
#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_FILL_##treatment(exported)
#include "shim/abi/nvml_points.def"
}

}  // namespace cupool::shim
