// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/simgpu/ptx/syntax/module.h"
#include "tools/simgpu/ptx/translate/names.h"

namespace cupool::simgpu::ptx {

/// Which functions have a thread wait, in their own instructions or in those of what they call.
std::vector<bool> find_waiting(const Names& names);

/// A copy of a kernel in which every call of a waiting function is replaced by that function's body, so that the kernel can return
/// in the midst of it and go on later; nothing to change gives nothing. The text of `error` is set when that cannot be done
/// (recursion, or more than a hundred thousand instructions). `entities` gets what the copy's variables are.
std::optional<Function> inline_waiting(const Names& names, std::size_t module, const Function& kernel,
                                       const std::vector<bool>& waiting, std::vector<Entity>& entities, std::string& error);

}  // namespace cupool::simgpu::ptx
