// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/modifiers.h"

#include <algorithm>

namespace cupool::simgpu::ptx {
namespace {
constexpr std::size_t kMax = 64;
std::size_t counted(const Instruction& instruction) {
  return std::min(kMax, instruction.modifiers.size());
}
}  // namespace

bool Modifiers::take(std::string_view word) {
  return !take_any({word}).empty();
}

std::string_view Modifiers::take_any(std::initializer_list<std::string_view> words) {
  for (std::size_t i = 0; i < counted(instruction_); ++i) {
    if (is_taken(i)) continue;
    for (const std::string_view word : words) {
      if (instruction_.modifiers[i] == word) return take_at(i);
    }
  }
  return {};
}

std::optional<Type> Modifiers::take_type() {
  for (std::size_t i = 0; i < counted(instruction_); ++i) {
    if (is_taken(i)) continue;
    const auto type = type_from_word(instruction_.modifiers[i]);
    if (!type) continue;
    take_at(i);
    return type;
  }
  return std::nullopt;
}

std::string_view Modifiers::take_prefix(std::string_view prefix) {
  for (std::size_t i = 0; i < counted(instruction_); ++i) {
    if (!is_taken(i) && instruction_.modifiers[i].starts_with(prefix)) return take_at(i);
  }
  return {};
}

std::string_view Modifiers::left_over() const {
  for (std::size_t i = 0; i < instruction_.modifiers.size(); ++i) {
    if (i >= kMax || !is_taken(i)) return instruction_.modifiers[i];
  }
  return {};
}

}  // namespace cupool::simgpu::ptx
