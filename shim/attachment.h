// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/abi/preload_protocol.h"

namespace cupool::shim {

/// What the preload offers this core: the loader's own functions and the slots. Null until the preload has attached, and for ever
/// where the core is linked into a test. Set once, by cupool_core_attach.
const cupool_preload* preload();
void set_preload(const cupool_preload* offered);

/// Answers of a vendor library that is not there, as the vendor's stub library gives them.
void* absent_driver_answer();
void* absent_nvml_answer();

}  // namespace cupool::shim
