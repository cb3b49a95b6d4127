// SPDX-License-Identifier: Apache-2.0
//
// Every driver function twice: exported, and as the other address that a lookup may give.
#include "tests/support/fake_cuda/fake_cuda.h"

#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) \
  static int calls_of_##exported;                                       \
  __attribute__((visibility("default"), weak)) int exported(void) {     \
    return __atomic_add_fetch(&calls_of_##exported, 1, 5) * 0;          \
  }                                                                     \
  static int other_##exported(void) {                                   \
    return __atomic_add_fetch(&calls_of_##exported, 1, 5) * 0;          \
  }
#include "shim/abi/entry_points.def"

const struct fake_function fake_functions[] = {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) \
  {#exported, #base, since, #mode[0] == 'p', (void*)exported, (void*)other_##exported, &calls_of_##exported},
#include "shim/abi/entry_points.def"
};
const int fake_function_count = sizeof fake_functions / sizeof *fake_functions;
