// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// A set of registers of one function.
class RegisterSet {
 public:
  explicit RegisterSet(std::size_t registers = 0) : words_((registers + 63) / 64) {}

  bool has(RegisterId reg) const { return (words_[reg / 64] >> (reg % 64) & 1) != 0; }
  void add(RegisterId reg) { words_[reg / 64] |= std::uint64_t{1} << (reg % 64); }
  void remove(RegisterId reg) { words_[reg / 64] &= ~(std::uint64_t{1} << (reg % 64)); }
  /// Adds everything of the other set; tells whether that changed anything.
  bool unite(const RegisterSet& other);
  std::size_t size() const;
  /// In ascending order.
  std::vector<RegisterId> members() const;

 private:
  std::vector<std::uint64_t> words_;
};

/// Which registers may still be read after each instruction (backward data flow over the basic blocks of one function).
class Liveness {
 public:
  explicit Liveness(const Function& function);

  /// Live after the instruction.
  RegisterSet after(std::size_t instruction) const;
  /// Live at the place of a label (before the instruction at that position).
  RegisterSet at(std::size_t position) const;
  /// The largest number of 32-bit registers live at once: what the register count is estimated from.
  std::uint32_t pressure() const;

 private:
  struct Block {
    std::size_t begin = 0, end = 0;
    std::vector<std::size_t> next;
    RegisterSet in, out;
  };
  void find_blocks();
  void link_blocks();
  void solve();
  void step_back(std::size_t instruction, RegisterSet& live) const;

  const Function& function_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> block_of_;
};

}  // namespace cupool::simgpu::ptx
