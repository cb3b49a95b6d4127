// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cupool::simgpu {

/// True for the container itself and for the wrapper structure that the compiler puts around it.
bool is_fat_binary(const void* image);

/// The PTX text of a container, of several the one for the newest architecture; empty when there is none that can be read.
/// Texts may be packed (LZ4 blocks, as the toolkit's default is); other packings count as unreadable.
std::string newest_ptx(const void* image);

}  // namespace cupool::simgpu
