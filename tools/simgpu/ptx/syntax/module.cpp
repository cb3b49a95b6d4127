// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/module.h"

#include <algorithm>

namespace cupool::simgpu::ptx {

std::string Instruction::name() const {
  std::string text(opcode);
  for (const std::string_view modifier : modifiers) text.append(".").append(modifier);
  return text;
}

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

}  // namespace cupool::simgpu::ptx
