// SPDX-License-Identifier: Apache-2.0
//
// The core's only export, and what it gives the preload.
#include "shim/attachment.h"

#include <atomic>
#include <cstring>

#include "shim/abi/cuda_types.h"
#include "shim/abi/nvml_types.h"
#include "shim/hook_table.h"
#include "shim/lookup.h"
#include "shim/real_driver.h"
#include "shim/runtime.h"

namespace cupool::shim {
namespace {

constinit std::atomic<const cupool_preload*> the_preload{nullptr};

CUresult stub_answer() {
  return CUDA_ERROR_STUB_LIBRARY;
}
nvmlReturn_t nvml_stub_answer() {
  return NVML_ERROR_LIBRARY_NOT_FOUND;
}

enum class Kind { driver, nvml, runtime };
constexpr Kind kKinds[] = {
#define CUPOOL_EXPORT(kind, name) Kind::kind,
#include "shim/abi/exports.def"
};

void* slot_value(std::uint32_t slot) {
  return __atomic_load_n(&preload()->slots[slot], __ATOMIC_ACQUIRE);
}

/// The program called a name that it is linked with. Where the vendor's library is missing the slot stays empty: it may come yet.
void* resolve(std::uint32_t slot, const void*) {
  switch (kKinds[slot]) {
    case Kind::driver:
      if (!real_driver().bind(nullptr)) return absent_driver_answer();
      fill_driver_slots();
      return slot_value(slot);
    case Kind::nvml:
      if (!bind_nvml(nullptr)) return absent_nvml_answer();
      fill_nvml_slots();
      return slot_value(slot);
    case Kind::runtime:
      __atomic_store_n(&preload()->slots[slot], runtime_hook_of(slot), __ATOMIC_RELEASE);
      return runtime_hook_of(slot);
  }
  return absent_driver_answer();
}

constexpr cupool_core kCore = {.size = sizeof(cupool_core), .substitute = substitute_symbol, .resolve = resolve};

}  // namespace

const cupool_preload* preload() {
  return the_preload.load(std::memory_order_acquire);
}
void set_preload(const cupool_preload* offered) {
  the_preload.store(offered, std::memory_order_release);
}
void* absent_driver_answer() {
  return reinterpret_cast<void*>(&stub_answer);
}
void* absent_nvml_answer() {
  return reinterpret_cast<void*>(&nvml_stub_answer);
}

}  // namespace cupool::shim

extern "C" __attribute__((visibility("default"))) const cupool_core* cupool_core_attach(const cupool_preload* offered,
                                                                                        const char** reason);
const cupool_core* cupool_core_attach(const cupool_preload* offered, const char** reason) {
  if (offered->size != sizeof(cupool_preload) || offered->slot_count != CUPOOL_SLOT_COUNT ||
      std::strcmp(offered->version, CUPOOL_VERSION) != 0) {
    *reason = "libcupool.so and its core are of different versions (core " CUPOOL_VERSION "): ";
    return nullptr;
  }
  cupool::shim::set_preload(offered);
  return &cupool::shim::kCore;
}
