// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/roles.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cupool::simgpu::ptx {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 21> kWithoutResult{
    "st",       "red",       "bra", "brx",      "ret",       "exit",    "trap",    "brkpt",         "membar",         "fence",
    "prefetch", "prefetchu", "cp",  "stmatrix", "nanosleep", "pmevent", "discard", "applypriority", "griddepcontrol", "setmaxnreg",
    "call"};

bool is_barrier(std::string_view opcode) {
  return opcode == "bar" || opcode == "barrier";
}

}  // namespace

std::size_t destination_count(const Instruction& instruction) {
  if (instruction.operands.empty() || contains(kWithoutResult, instruction.opcode)) return 0;
  if (is_barrier(instruction.opcode)) return instruction.has("red") ? 1 : 0;
  if (instruction.opcode == "wmma" && instruction.has("store")) return 0;
  return 1;
}

bool is_synchronising(const Instruction& instruction) {
  static constexpr std::array<std::string_view, 12> kWarp{"shfl", "vote",     "match",    "activemask", "redux", "elect",
                                                          "mma",  "ldmatrix", "stmatrix", "movmatrix",  "bar",   "barrier"};
  return contains(kWarp, instruction.opcode);
}

bool observes_others(const Instruction& instruction) {
  if (instruction.opcode == "atom") return true;
  if (instruction.opcode != "ld") return false;
  return instruction.has("volatile") || instruction.has("relaxed") || instruction.has("acquire");
}

bool is_order_sensitive(const Instruction& instruction) {
  if (instruction.opcode == "atom") {
    const bool in_block = instruction.has("shared") || instruction.has("shared::cta");
    return !in_block;
  }
  if (instruction.opcode == "red") {
    return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), [](std::string_view word) {
      const auto type = type_from_word(word);
      return word == "inc" || word == "dec" || (type && type->is_float());
    });
  }
  return observes_others(instruction);
}

bool is_spinning(const Function& function) {
  const auto& all = function.instructions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].opcode != "bra" || all[i].operands.empty() || all[i].operands[0].label < 0) continue;
    const std::size_t target = function.labels[static_cast<std::size_t>(all[i].operands[0].label)].position;
    if (target > i) continue;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(target);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(first, last, observes_others)) return true;
  }
  return false;
}

bool ends_flow(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  return opcode == "bra" || opcode == "brx" || opcode == "ret" || opcode == "exit" || opcode == "trap";
}

}  // namespace cupool::simgpu::ptx
