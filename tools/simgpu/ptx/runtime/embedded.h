// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cupool::simgpu::ptx {

/// The text of abi.h and prelude.h without comments: what every generated C source begins with. Written by embed.py at build time.
extern const char* const kAbiText;
extern const char* const kPreludeText;

}  // namespace cupool::simgpu::ptx
