// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shim/abi/preload_protocol.h"

/// The driver's entry points as data, made from shim/abi/entry_points.def. Immutable, constant-initialised, safe everywhere.
namespace cupool::shim {

/// One exported name, which is one ABI. Enumerators are spelt like the functions: Entry::cuMemAlloc_v2.
enum class Entry : std::uint16_t {
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) exported,
#include "shim/abi/entry_points.def"
};

inline constexpr std::size_t kEntryCount = 0
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) +1
#include "shim/abi/entry_points.def"
    ;

enum class Family : std::uint8_t {
#define CUPOOL_FAMILY(family, serve, timing) family,
#include "shim/hooks/families.def"
};

enum class Serve : std::uint8_t { driver, gate, function };
enum class Timing : std::uint8_t { counted, timed };
enum class Treatment : std::uint8_t { pass, count, hook };
enum class StreamMode : std::uint8_t { any, legacy, per_thread };

/// A slot of the preload, and the number of the entry in the report. `kNoSlot` for `pass` rows.
inline constexpr std::int16_t kNoSlot = -1;

struct EntryRow {
  const char* exported;
  const char* base;     ///< what cuGetProcAddress is asked for
  std::uint16_t since;  ///< CUDA version of this ABI
  Family family;
  Treatment treatment;
  StreamMode mode;
  std::int16_t slot;
};

const EntryRow& row(Entry entry);

/// By exported name: exact.
std::optional<Entry> find_exported(std::string_view name);

/// The form that a driver of CUDA `version` or newer gives for a base name, by the rule of shim/abi/entry_points.def. None for an
/// unknown name and where no form is old enough. A driver newer than our table may give a form that we do not know: compare.
std::optional<Entry> find_form(std::string_view base, int version, bool per_thread);

/// Name of a slot, as the report shows it.
const char* slot_name(std::uint32_t slot);

}  // namespace cupool::shim
