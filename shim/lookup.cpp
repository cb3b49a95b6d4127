// SPDX-License-Identifier: Apache-2.0
#include "shim/lookup.h"

#include <cstring>

#include "shim/entry_table.h"
#include "shim/hook_table.h"
#include "shim/hooks/hooks.h"
#include "shim/real_driver.h"

namespace cupool::shim {
namespace {

void* substitute_nvml(const char* name, void* found) {
  if (!bind_nvml(found)) return found;
#define CUPOOL_SUBSTITUTE_pass(exported)
#define CUPOOL_SUBSTITUTE_hook(exported)               \
  if (std::strcmp(name, #exported) == 0) {             \
    void* hook = nvml_hook_of(CUPOOL_SLOT_##exported); \
    return hook != nullptr ? hook : found;             \
  }
#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_SUBSTITUTE_##treatment(exported)
#include "shim/abi/nvml_points.def"
  return found;
}

/// Which form the driver's lookup gave: by base name, version and flags. Some drivers also take exported names; those are exact.
std::optional<Entry> requested_form(const char* symbol, int version, bool per_thread) {
  const std::optional<Entry> by_base = find_form(symbol, version, per_thread);
  return by_base ? by_base : find_exported(symbol);
}

/// The driver's lookup answered `given` to a request for `symbol`: what the program gets. `ask_again` repeats the request for
/// another version, with the same flags, and returns null where that fails.
template <class AskAgain>
void* substitute_answer(const char* symbol, void* given, int version, bool per_thread, const AskAgain& ask_again) {
  const std::optional<Entry> entry = requested_form(symbol, version, per_thread);
  if (!entry || row(*entry).treatment == Treatment::pass) return given;
  if (real_driver().function(*entry) != given) {
    // The driver's lookup need not give the exported address. The same answer to a request for exactly this form's version proves
    // the form; another answer is a newer one that we do not know, and goes to the program as it is.
    if (ask_again(row(*entry).since) != given) return given;
    real_driver().learn(*entry, given);
  }
  void* hook = hook_of(*entry);
  return hook != nullptr ? hook : given;
}

}  // namespace

void* substitute_symbol(const char* name, void* found) {
  if (std::strncmp(name, "nvml", 4) == 0) return substitute_nvml(name, found);
  const std::optional<Entry> entry = find_exported(name);
  if (!entry || !real_driver().bind(found)) return found;
  if (row(*entry).treatment == Treatment::pass) {
    void* first = real_driver().is_other_copy(found) ? real_driver().function(*entry) : nullptr;
    return first != nullptr ? first : found;
  }
  void* hook = hook_of(*entry);
  return hook != nullptr ? hook : found;
}

}  // namespace cupool::shim

namespace cupool {

CUresult hook::cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result = driver::cuGetProcAddress(symbol, function, version, flags);
  if (result != CUDA_SUCCESS || symbol == nullptr || function == nullptr || *function == nullptr) return result;
  const auto ask_again = [&](int other_version) {
    void* other = nullptr;
    return driver::cuGetProcAddress(symbol, &other, other_version, flags) == CUDA_SUCCESS ? other : nullptr;
  };
  *function =
      shim::substitute_answer(symbol, *function, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, ask_again);
  return result;
}

CUresult hook::cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                   CUdriverProcAddressQueryResult* status) {
  const CUresult result = driver::cuGetProcAddress_v2(symbol, function, version, flags, status);
  if (result != CUDA_SUCCESS || symbol == nullptr || function == nullptr || *function == nullptr) return result;
  const auto ask_again = [&](int other_version) {
    void* other = nullptr;
    CUdriverProcAddressQueryResult ignored;
    return driver::cuGetProcAddress_v2(symbol, &other, other_version, flags, &ignored) == CUDA_SUCCESS ? other : nullptr;
  };
  *function =
      shim::substitute_answer(symbol, *function, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, ask_again);
  return result;
}

}  // namespace cupool
