// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The runtime names, for callers that are linked with a shared runtime. They change nothing: each calls the runtime that the
/// calling library is linked with (a process can hold several, and each has its own last error), and notes which call it was and
/// how long it took. What is governed is governed below, at the driver.
namespace cupool::shim {

/// Where a call through a runtime name's slot goes; null for slots of other kinds.
void* runtime_hook_of(std::uint32_t slot);

/// The runtime function `name` as the library that holds `caller` is linked with it: through that library's own dependencies, else
/// the first definition beyond ours. Null where there is none.
void* runtime_function_for(const void* caller, const char* name);

}  // namespace cupool::shim
