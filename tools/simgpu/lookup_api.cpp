// SPDX-License-Identifier: Apache-2.0
//
// Entry points: lookup of entry points by base name, version and stream mode.
#include <cstring>
#include <string_view>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"

using namespace cupool::simgpu;

namespace {

using Function = void (*)();

const Function kFunctions[] = {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) reinterpret_cast<Function>(&exported),
#include "shim/abi/entry_points.def"
};

constexpr cuuint64_t kKnownFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Found {
  Function function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// The newest form that is not newer than `version`. Per thread, a per-thread form wins over a legacy form of the same version.
Found find(std::string_view base, int version, bool per_thread) {
  Found found;
  int best = -1;
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const EntryRow& row = kEntryRows[i];
    if (base != row.base || row.since > driver_version()) continue;
    if (found.function == nullptr) found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    const int rank = row.since * 2 + (row.mode == 'p' ? 1 : 0);
    if (row.since > version || (row.mode == 'p' && !per_thread) || rank <= best) continue;
    best = rank;
    found = {kFunctions[i], CU_GET_PROC_ADDRESS_SUCCESS};
  }
  return found;
}

CUresult get(const char* symbol, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr || *symbol == '\0') return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~kKnownFlags) != 0 || flags == kKnownFlags || version > driver_version()) return CUDA_ERROR_INVALID_VALUE;
  const Found found = find(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *function = reinterpret_cast<void*>(found.function);
  if (status != nullptr) *status = found.status;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return enter(
      EntryId::cuGetProcAddress, Needs::nothing, [&](Call&) { return get(symbol, function, version, flags, nullptr); }, symbol,
      function, version, flags);
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return enter(
      EntryId::cuGetProcAddress_v2, Needs::nothing, [&](Call&) { return get(symbol, function, version, flags, status); }, symbol,
      function, version, flags, status);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  return enter(
      EntryId::cuGetExportTable, Needs::nothing,
      [&](Call&) -> CUresult {
        if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return CUDA_ERROR_NOT_FOUND;
      },
      table, id);
}
