// SPDX-License-Identifier: Apache-2.0
//
// An answer for every entry point without a body here: CUDA_ERROR_NOT_SUPPORTED, or the code that its row says the real driver
// answers. Each is a weak definition, so that the function that simulates it replaces it. The prototypes are left out on purpose:
// one shape serves all names, because the callers' arguments do not matter (System V and AArch64 calling conventions: the caller
// cleans up).
#include "tools/simgpu/call_log.h"

namespace {

constexpr int kNotSupported = 801;
[[maybe_unused]] constexpr int later = kNotSupported;
[[maybe_unused]] constexpr int body = kNotSupported;
[[maybe_unused]] constexpr int refuses_1 = 1;
[[maybe_unused]] constexpr int refuses_500 = 500;
[[maybe_unused]] constexpr int refuses_801 = 801;

int answer(const char* name, int code) {
  cupool::simgpu::log_not_simulated(name);
  return code;
}

}  // namespace

extern "C" {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) \
  [[gnu::weak, gnu::visibility("default")]] int exported() {            \
    return answer(#exported, simgpu);                                   \
  }
#include "shim/abi/entry_points.def"
}
