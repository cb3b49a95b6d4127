// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simgpu/ptx/syntax/types.h"

namespace cupool::simgpu::ptx {

// The syntax tree of one PTX text. Names are views of that text, which must outlive the tree.

enum class Space : std::uint8_t { generic, global, constant, shared, local, param, reg };

/// Index of a register in Function::registers.
using RegisterId = std::uint32_t;
inline constexpr RegisterId kNoRegister = ~RegisterId{0};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,      ///< reg; negated for `!%p`
    integer,  ///< value
    real,     ///< value holds bits: of an f64 if is_double, else of an f32; `decimal` reals take the instruction's type
    symbol,   ///< name + value: a variable, function or (in bra) label
    special,  ///< name: `%tid.x`, `%laneid`
    address,  ///< [reg + value], [name + value] or [value]
    vector,   ///< {elements}
    pair,     ///< first|second
    list,     ///< (elements), in call
    discard,  ///< _
  };
  Kind kind = Kind::discard;
  bool negated = false;
  bool is_double = false;
  bool decimal = false;
  RegisterId reg = kNoRegister;
  std::int32_t variable = -1;  ///< symbol and address: index in Function::variables if the name is declared in the function
  std::int32_t label = -1;     ///< symbol in bra and brx: index in Function::labels
  std::uint64_t value = 0;
  std::string_view name = {};
  std::vector<Operand> elements = {};

  bool is_register() const { return kind == Kind::reg; }
};

struct Instruction {
  std::uint32_t line = 0;
  RegisterId guard = kNoRegister;
  bool guard_negated = false;
  std::string_view opcode;
  std::vector<std::string_view> modifiers;  ///< without dots
  std::vector<Operand> operands;

  /// "@%p1 setp.lt.f32": for messages.
  std::string name() const;
  bool has(std::string_view modifier) const;
};

struct Register {
  std::string name;
  Type type;
};

/// Where the value of an initialiser's element is an address: generic(name) + value, or name + value.
struct Initialiser {
  std::uint64_t value = 0;
  bool is_real = false;
  bool is_double = false;
  std::string_view symbol;       ///< empty for a plain value
  std::uint32_t mask_shift = 0;  ///< mask(0xff00) symbol: which byte of the address
  bool masked = false;
};

enum class Linkage : std::uint8_t { none, visible, weak, common, external };

struct Variable {
  std::string_view name;
  Space space = Space::global;
  Type type;
  std::uint64_t count = 1;  ///< elements in all; 0 for `name[]`
  std::uint32_t alignment = 1;
  std::uint64_t size = 0;  ///< bytes
  Linkage linkage = Linkage::none;
  std::uint32_t line = 0;
  std::vector<Initialiser> initial;
};

struct Label {
  std::string_view name;
  std::uint32_t position = 0;  ///< index of the instruction it stands before; may be one past the end
};

struct BranchTable {
  std::string_view name;
  std::vector<std::int32_t> labels;  ///< of .branchtargets
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::none;
  std::uint32_t line = 0;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;  ///< space param, or reg (then register_parameters has the register)
  std::vector<RegisterId> register_returns;
  std::vector<RegisterId> register_parameters;
  std::uint32_t max_block[3] = {0, 0, 0};       ///< .maxntid
  std::uint32_t required_block[3] = {0, 0, 0};  ///< .reqntid

  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< .local, .shared, .param, .global and .const declared in the body
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<BranchTable> tables;
};

struct Module {
  std::uint32_t version = 0;  ///< 10 x major + minor
  std::uint32_t target = 0;   ///< NN of sm_NN
  std::uint32_t address_bits = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace cupool::simgpu::ptx
