// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Every way in which a program asks for an address ends here: dlsym and dlvsym (through the preload), cuGetProcAddress (both
/// forms, hooks in lookup.cpp). The real resolver has been asked first, with the caller's own name, version and flags, and its
/// answer is replaced only where we know exactly which ABI it is.
namespace cupool::shim {

/// dlsym resolved `name` to `found`: what the program gets. Binds the driver (or NVML) to the library that holds `found`, if none
/// is bound yet. See cupool_core::substitute.
void* substitute_symbol(const char* name, void* found);

}  // namespace cupool::shim
