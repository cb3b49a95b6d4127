// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tools/simgpu/module/module.h"

namespace cupool::simgpu {

/// Makes a loaded module known by its handle.
CUmodule publish(const std::shared_ptr<Module>& module);
/// The module of a handle, or null.
std::shared_ptr<Module> module_of(CUmodule handle);
/// Forgets a module and its functions; its memory goes when nothing runs in it any more. False for a stale handle.
bool unload(CUmodule handle);

/// A function's handle: made known at its first use.
CUfunction publish(const std::shared_ptr<Function>& function);
/// The function that a handle means in a context: a function of it, or that of a kernel (CUkernel), which calls take as well.
std::shared_ptr<Function> function_of(CUfunction handle, Context& context);

/// Everything loaded in a context that ends, libraries' modules in it included.
void unload_all_of(Context& context);

}  // namespace cupool::simgpu
