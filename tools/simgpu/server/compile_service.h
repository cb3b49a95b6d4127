// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

/// How the line begins by which a program's own choice of compiler goes in front of its source.
inline constexpr std::string_view kCompilerLine = "// compiler: ";

/// Serves the compile requests of one connection on a thread of its own until the client closes it, so that a compiler that runs
/// for seconds delays no allocation. The compiler is a child of the server: the host program gets no child processes.
///
/// A request packet is a protocol::Request (Op::compile; `word` 0 quick, 1 optimised) with the C source as a descriptor (a memfd).
/// Its first line may be kCompilerLine and a compiler's name: what SIMGPU_CC says in the program that asks.
/// The reply carries the object, or with Status::failed the compiler's words, as a descriptor.
void start_compile_service(Descriptor socket);

}  // namespace cupool::simgpu
