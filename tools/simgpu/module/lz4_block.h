// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cupool::simgpu {

/// Unpacks one LZ4 block (the block format of the public LZ4 description, no frame). Empty when the block is damaged or does not
/// give exactly `unpacked_bytes`.
std::string unpack_lz4_block(std::span<const std::byte> packed, std::size_t unpacked_bytes);

}  // namespace cupool::simgpu
