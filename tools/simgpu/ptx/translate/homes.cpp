// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/homes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {
namespace {

bool is_copy(std::string_view opcode) {
  return opcode == "mov" || opcode == "selp";
}

bool is_transfer(std::string_view opcode) {
  return is_copy(opcode) || opcode == "ld" || opcode == "ldu" || opcode == "st" || opcode == "shfl" || opcode == "atom" ||
         opcode == "red";
}

bool is_arithmetic(std::string_view opcode) {
  static constexpr std::array<std::string_view, 19> kArithmetic{"add",  "sub",   "mul", "fma",  "mad", "div", "rcp",
                                                                "sqrt", "rsqrt", "min", "max",  "abs", "neg", "ex2",
                                                                "lg2",  "sin",   "cos", "tanh", "cvt"};
  return std::find(kArithmetic.begin(), kArithmetic.end(), opcode) != kArithmetic.end();
}

struct TypePair {
  Type result;
  Type source;
  bool known = false;
};

/// First and last type among the modifiers: `cvt.rn.f32.s32` is {f32, s32}, `add.f32` is {f32, f32}.
TypePair types_of(const Instruction& instruction) {
  TypePair pair;
  for (const std::string_view word : instruction.modifiers) {
    const auto type = type_from_word(word);
    if (!type) continue;
    if (!pair.known) pair.result = *type;
    pair.source = *type;
    pair.known = true;
  }
  return pair;
}

bool is_host_float(Type type) {
  return type == kF32 || type == kF64;
}

bool is_nan(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) return false;
  return operand.is_double ? (operand.value & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL
                           : (operand.value & 0x7fffffffULL) > 0x7f800000ULL;
}

class HomeChooser {
 public:
  explicit HomeChooser(const Function& function)
      : function_(function), votes_(function.registers.size(), 0), homes_(votes_.size()) {}

  std::vector<RegisterHome> run() {
    for (const Instruction& instruction : function_.instructions) vote(instruction);
    for (std::size_t i = 0; i < homes_.size(); ++i) homes_[i] = RegisterHome{home(i), false};
    find_pure();
    return std::move(homes_);
  }

 private:
  void vote(const Instruction& instruction) {
    const TypePair types = types_of(instruction);
    if (!types.known) return;
    const auto weigh = [&](Type type) {
      if (is_host_float(type)) return is_transfer(instruction.opcode) ? 1 : 2;
      if (type.kind == Kind::bits && is_transfer(instruction.opcode)) return 0;
      return -2;
    };
    const std::size_t results = destination_count(instruction);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.kind == Operand::Kind::address) {
        if (operand.reg != kNoRegister) votes_[operand.reg] -= 4;
        continue;
      }
      const int weight = weigh(i < results ? types.result : types.source);
      for_each_register(operand, [&](RegisterId reg) { votes_[reg] += weight; });
    }
  }

  Home home(std::size_t reg) const {
    const Type type = function_.registers[reg].type;
    if (type.kind == Kind::predicate) return Home::predicate;
    switch (type.bits()) {
      case 8:
        return Home::u8;
      case 16:
        return Home::u16;
      case 32:
        return votes_[reg] > 0 ? Home::f32 : Home::u32;
      case 64:
        return votes_[reg] > 0 ? Home::f64 : Home::u64;
      default:
        return Home::wide;
    }
  }

  bool is_float_home(RegisterId reg) const { return homes_[reg].home == Home::f32 || homes_[reg].home == Home::f64; }

  /// Starts from "all float registers are pure" and takes away until nothing changes.
  void find_pure() {
    for (std::size_t i = 0; i < homes_.size(); ++i) homes_[i].pure = is_float_home(static_cast<RegisterId>(i));
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : function_.instructions) {
        for_each_definition(instruction, [&](RegisterId reg) {
          if (!homes_[reg].pure || keeps_pure(instruction, reg)) return;
          homes_[reg].pure = false;
          changed = true;
        });
      }
    }
  }

  bool keeps_pure(const Instruction& instruction, RegisterId reg) const {
    const TypePair types = types_of(instruction);
    const bool same_width = types.known && types.result.bits() == function_.registers[reg].type.bits();
    if (!same_width || instruction.operands[0].kind != Operand::Kind::reg) return false;
    if (is_arithmetic(instruction.opcode)) return is_host_float(types.result);
    if (!is_copy(instruction.opcode)) return false;
    const std::size_t sources = instruction.opcode == "selp" ? 2 : 1;
    for (std::size_t i = 1; i <= sources && i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      const bool constant = operand.kind == Operand::Kind::real && !is_nan(operand);
      const bool copy = operand.is_register() && homes_[operand.reg].pure;
      if (!constant && !copy) return false;
    }
    return true;
  }

  const Function& function_;
  std::vector<int> votes_;
  std::vector<RegisterHome> homes_;
};

}  // namespace

std::vector<RegisterHome> choose_homes(const Function& function) {
  return HomeChooser(function).run();
}

}  // namespace cupool::simgpu::ptx
