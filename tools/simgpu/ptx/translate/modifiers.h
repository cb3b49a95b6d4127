// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// Reads an instruction's modifiers one after another and knows which are left over: what nobody took is not supported, so no
/// modifier is ever ignored by accident.
class Modifiers {
 public:
  explicit Modifiers(const Instruction& instruction) : instruction_(instruction) {}

  /// Takes the word wherever it stands.
  bool take(std::string_view word);
  /// Takes the first word that is one of these; empty if there is none.
  std::string_view take_any(std::initializer_list<std::string_view> words);
  /// Takes the first type that is left.
  std::optional<Type> take_type();
  /// Takes the first word that starts so; empty if there is none.
  std::string_view take_prefix(std::string_view prefix);
  /// The first word that nobody took; empty if all were.
  std::string_view left_over() const;

 private:
  bool is_taken(std::size_t i) const { return (taken_ >> i & 1) != 0; }
  std::string_view take_at(std::size_t i) {
    taken_ |= std::uint64_t{1} << i;
    return instruction_.modifiers[i];
  }

  const Instruction& instruction_;
  std::uint64_t taken_ = 0;  ///< more than 64 modifiers are never all taken
};

}  // namespace cupool::simgpu::ptx
