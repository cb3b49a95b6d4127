// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// Why a text was not accepted, and where.
struct SyntaxError {
  enum class Kind { syntax, version };
  Kind kind = Kind::syntax;
  std::uint32_t line = 0;
  std::string message;
};

/// Reads PTX 3.0 to 9.x into a tree: names resolved to registers, variables of the function and labels; module-level names and the
/// meaning of instructions are left to the translator. Linear in the size of the text; never crashes, whatever the text is.
///
/// The tree holds views of `text`.
tl::expected<Module, SyntaxError> parse(std::string_view text);

}  // namespace cupool::simgpu::ptx
