// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/entry_table.h"

namespace cupool::shim {

/// The function that programs get in the driver's place; null for `pass` rows and for functions that this driver does not have: a
/// hook exists only where the real function does.
void* hook_of(Entry entry);

/// The same for an NVML slot.
void* nvml_hook_of(std::uint32_t slot);

/// Stores the hooks of all driver names, or all NVML names, into the preload's slots. Names that the library lacks answer as an
/// absent library does.
void fill_driver_slots();
void fill_nvml_slots();

}  // namespace cupool::shim
