// SPDX-License-Identifier: Apache-2.0
#include "shim/abi/driver_api.h"
#include "shim/abi/nvml_types.h"

int cupool_abi_rows_seen_from_c(void);

/// Counts the rows, and proves that the room's headers are C.
int cupool_abi_rows_seen_from_c(void) {
  int rows = 0;
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) rows += sizeof(&exported) == sizeof(void*);
#include "shim/abi/entry_points.def"
  return rows;
}
