// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupool::simgpu {

/// Every entry point of the driver, named as it is exported (shim/abi/entry_points.def).
enum class EntryId : std::uint16_t {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) exported,
#include "shim/abi/entry_points.def"
};

struct EntryRow {
  const char* family;
  const char* exported;
  const char* base;
  int since;
  char mode;  ///< 'a'ny, 'l'egacy, 'p'er thread
};

inline constexpr EntryRow kEntryRows[] = {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) {#family, #exported, #base, since, (#mode)[0]},
#include "shim/abi/entry_points.def"
};
inline constexpr std::size_t kEntryCount = sizeof kEntryRows / sizeof kEntryRows[0];

constexpr const EntryRow& row_of(EntryId id) {
  return kEntryRows[static_cast<std::size_t>(id)];
}

}  // namespace cupool::simgpu
