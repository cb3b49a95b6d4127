// SPDX-License-Identifier: Apache-2.0
#include "shim/entry_table.h"

namespace cupool::shim {
namespace {

#define CUPOOL_SLOT_OF_pass(exported) kNoSlot
#define CUPOOL_SLOT_OF_count(exported) CUPOOL_SLOT_##exported
#define CUPOOL_SLOT_OF_hook(exported) CUPOOL_SLOT_##exported

constexpr std::array<EntryRow, kEntryCount> kRows = {{
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) \
  {#exported, #base, since, Family::family, Treatment::shim, StreamMode::mode, CUPOOL_SLOT_OF_##shim(exported)},
#include "shim/abi/entry_points.def"
}};

constexpr const char* kSlotNames[] = {
#define CUPOOL_EXPORT(kind, name) #name,
#include "shim/abi/exports.def"
};

constexpr std::uint32_t hash(std::string_view text) {
  std::uint32_t value = 2166136261u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

/// Rows by a hash of one of their names: open addressing, one row per distinct name (the first), filled when compiled.
class Index {
 public:
  constexpr explicit Index(const char* const EntryRow::*name) : name_(name) {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      std::uint32_t at = hash(kRows[i].*name) & kMask;
      while (cells_[at] != 0 && std::string_view(kRows[cells_[at] - 1u].*name) != kRows[i].*name) at = (at + 1) & kMask;
      if (cells_[at] == 0) cells_[at] = static_cast<std::uint16_t>(i + 1);
    }
  }

  /// Number of the first row of that name, or kEntryCount.
  constexpr std::size_t find(std::string_view name) const {
    for (std::uint32_t at = hash(name) & kMask; cells_[at] != 0; at = (at + 1) & kMask) {
      if (kRows[cells_[at] - 1u].*name_ == name) return cells_[at] - 1u;
    }
    return kEntryCount;
  }

 private:
  static constexpr std::uint32_t kMask = 2047;
  const char* const EntryRow::*name_;
  std::array<std::uint16_t, kMask + 1> cells_{};
};

constexpr Index kByExported{&EntryRow::exported};
constexpr Index kByBase{&EntryRow::base};

/// find_form looks at the rows that follow the first of a base name, so they must stand together.
constexpr bool forms_stand_together() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    for (std::size_t first = kByBase.find(kRows[i].base); first < i; ++first) {
      if (std::string_view(kRows[first].base) != kRows[i].base) return false;
    }
  }
  return true;
}
static_assert(forms_stand_together(), "entry_points.def: keep all forms of one base name in consecutive rows");

}  // namespace

const EntryRow& row(Entry entry) {
  return kRows[static_cast<std::size_t>(entry)];
}

const char* slot_name(std::uint32_t slot) {
  return slot < CUPOOL_SLOT_COUNT ? kSlotNames[slot] : "";
}

std::optional<Entry> find_exported(std::string_view name) {
  const std::size_t found = kByExported.find(name);
  return found < kEntryCount ? std::optional(static_cast<Entry>(found)) : std::nullopt;
}

std::optional<Entry> find_form(std::string_view base, int version, bool per_thread) {
  std::optional<Entry> best;
  std::optional<Entry> best_per_thread;
  for (std::size_t i = kByBase.find(base); i < kEntryCount && kRows[i].base == base; ++i) {
    if (kRows[i].since > version) continue;
    auto& slot = kRows[i].mode == StreamMode::per_thread ? best_per_thread : best;
    if (!slot || row(*slot).since < kRows[i].since) slot = static_cast<Entry>(i);
  }
  return per_thread && best_per_thread ? best_per_thread : best;
}

}  // namespace cupool::shim
