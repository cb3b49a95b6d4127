// SPDX-License-Identifier: Apache-2.0
// How operands read and are assigned in C.
#include <bit>
#include <cstdio>

#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

std::string hex(std::uint64_t value, std::uint32_t bits) {
  char text[24];
  if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
  std::snprintf(text, sizeof text, bits > 32 ? "0x%llxULL" : "0x%llxu", static_cast<unsigned long long>(value));
  return text;
}

std::string paren(std::string_view text) {
  return std::string(1, '(').append(text).append(")");
}

/// A float literal by its bits: exact, NaNs and denormals included, and independent of the compiler's number reader.
std::string float_literal(std::uint64_t bits, bool is_double) {
  return (is_double ? "sg_f64(" : "sg_f32(") + hex(bits, is_double ? 64 : 32) + ")";
}

/// Plain literals where both exist: compilers fold them.
std::string float_constant(std::uint64_t bits, bool is_double) {
  char text[40];
  if (is_double) {
    const double value = std::bit_cast<double>(bits);
    const double magnitude = value < 0 ? -value : value;
    if (!(magnitude >= 1e-300 && magnitude <= 1e300) && bits != 0) return float_literal(bits, true);
    std::snprintf(text, sizeof text, "%.17e", value);
    return value < 0 ? paren(text) : text;
  }
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const float magnitude = value < 0 ? -value : value;
  if (!(magnitude >= 1e-37F && magnitude <= 1e38F) && bits != 0) return float_literal(bits, false);
  std::snprintf(text, sizeof text, "%.9ef", static_cast<double>(value));
  return value < 0 ? paren(text) : text;
}

std::uint64_t real_bits(const Operand& operand, bool as_double) {
  if (operand.is_double == as_double) return operand.value;
  if (as_double)
    return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.value))));
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
}

std::uint32_t home_bits(Home home) {
  switch (home) {
    case Home::predicate:
    case Home::u8:
      return 8;
    case Home::u16:
      return 16;
    case Home::u32:
    case Home::f32:
      return 32;
    default:
      return 64;
  }
}

}  // namespace

std::string FunctionTranslator::c_type(Type type) {
  if (type == kF32) return "float";
  if (type == kF64) return "double";
  if (type.kind == Kind::predicate) return "u32";
  const bool is_signed = type.is_signed() && type.lanes == 1;
  return (is_signed ? "s" : "u") + std::to_string(type.bits());
}

std::string FunctionTranslator::register_value(RegisterId reg, Type type) {
  const RegisterHome home = homes_[reg];
  const std::string name = name_of(reg);
  if (home.home == Home::predicate || home.home == Home::wide) {
    fail("register " + function_.registers[reg].name + " (" + to_text(function_.registers[reg].type) + ") cannot be used as " +
         to_text(type));
    return "0";
  }
  const std::uint32_t have = home_bits(home.home);
  if (have < type.bits()) {
    fail("register " + function_.registers[reg].name + " is narrower than " + to_text(type));
    return "0";
  }
  const bool float_home = home.home == Home::f32 || home.home == Home::f64;
  if (type == kF32 || type == kF64) {
    if (have != type.bits()) {
      fail("register " + function_.registers[reg].name + " is not of the width of " + to_text(type));
      return "0";
    }
    return float_home ? name : "PUN(" + c_type(type) + "," + name + ")";
  }
  std::string bits = name;
  if (float_home) {
    const char* whole = have == 32 ? "u32" : "u64";
    bits =
        home.pure ? std::string(have == 32 ? "BITS32(" : "BITS64(") + name + ")" : std::string("PUN(") + whole + "," + name + ")";
  }
  const std::string wanted = c_type(type);
  const bool same = !type.is_signed() && have == type.bits();
  return same ? bits : "((" + wanted + ")" + bits + ")";
}

std::string FunctionTranslator::immediate(const Operand& operand, Type type) {
  if (operand.kind == Operand::Kind::real) {
    if (type == kF32 || type == kF64) return float_constant(real_bits(operand, type == kF64), type == kF64);
    if (type.lanes == 1 && type.bits() == 32) return hex(real_bits(operand, false), 32);
    if (type.lanes == 1 && type.bits() == 64) return hex(real_bits(operand, true), 64);
    fail("a floating-point constant cannot be " + to_text(type));
    return "0";
  }
  if (type == kF32 || type == kF64) {
    // An integer where a float is asked for: PTX takes its bits only in untyped instructions.
    fail("an integer constant cannot be " + to_text(type));
    return "0";
  }
  const std::string bits = hex(operand.value, type.bits());
  return type.is_signed() ? "((" + c_type(type) + ")" + bits + ")" : bits;
}

std::string FunctionTranslator::value(const Operand& operand, Type type) {
  if (type.kind == Kind::predicate) return predicate(operand);
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (operand.negated) break;
      return register_value(operand.reg, type);
    case Operand::Kind::integer:
    case Operand::Kind::real:
      return immediate(operand, type);
    case Operand::Kind::special: {
      const std::string expression = special(operand.name);
      if (type == kF32 || type == kF64) break;
      return "((" + c_type(type) + ")" + expression + ")";
    }
    case Operand::Kind::symbol:
      return symbol_address(operand, type);
    default:
      break;
  }
  fail("operand cannot be read as " + to_text(type));
  return "0";
}

std::string FunctionTranslator::predicate(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) {
    const bool value = (operand.value != 0) != operand.negated;
    return value ? "1u" : "0u";
  }
  if (!operand.is_register() || homes_[operand.reg].home != Home::predicate) {
    fail("operand is not a predicate");
    return "0u";
  }
  return operand.negated ? "(!" + name_of(operand.reg) + ")" : name_of(operand.reg);
}

void FunctionTranslator::assign_predicate(const Operand& target, const std::string& expression) {
  if (target.kind == Operand::Kind::discard) return emit("(void)(" + expression + ");");
  if (!target.is_register() || homes_[target.reg].home != Home::predicate) return fail("result is not a predicate register");
  emit(name_of(target.reg) + " = " + expression + ";");
}

void FunctionTranslator::assign(const Operand& target, Type type, const std::string& expression, bool arithmetic) {
  if (target.kind == Operand::Kind::discard) return emit("(void)(" + expression + ");");
  if (!target.is_register()) return fail("result is not a register");
  const RegisterHome home = homes_[target.reg];
  if (home.home == Home::predicate || home.home == Home::wide) {
    return fail("register " + function_.registers[target.reg].name + " cannot hold " + to_text(type));
  }
  const std::string name = name_of(target.reg);
  const std::uint32_t have = home_bits(home.home);
  if (have < type.bits()) return fail("register " + function_.registers[target.reg].name + " is narrower than " + to_text(type));
  const bool float_home = home.home == Home::f32 || home.home == Home::f64;
  const std::string whole = "u" + std::to_string(have);
  if (type == kF32 || type == kF64) {
    if (have != type.bits())
      return fail("register " + function_.registers[target.reg].name + " is not of the width of " + to_text(type));
    const std::string place = float_home ? name : "PUN(" + c_type(type) + "," + name + ")";
    emit(place + " = " + expression + ";");
    if (arithmetic && !home.pure)
      emit("if (" + place + " != " + place + ") PUN(" + whole + "," + name +
           ") = " + (type == kF32 ? "0x7fffffffu;" : "0x7ff8000000000000ULL;"));
    return;
  }
  const std::string place = float_home ? "PUN(" + whole + "," + name + ")" : name;
  const std::string narrow = "(" + c_type(type) + ")";
  if (have == type.bits()) return emit(place + " = (" + whole + ")(" + expression + ");");
  const std::string widened = type.is_signed() ? "(s" + std::to_string(have) + ")" + narrow : narrow;
  emit(place + " = (" + whole + ")" + widened + "(" + expression + ");");
}

std::string FunctionTranslator::declare_temporary(const char* type, const std::string& expression) {
  const std::string name = "t" + std::to_string(temporaries_++);
  emit(std::string(type) + " " + name + " = " + expression + ";");
  return name;
}

std::string FunctionTranslator::variable_address(const Operand& operand, Space* space) {
  const std::string offset = operand.value == 0 ? "" : " + " + hex(operand.value, 64);
  std::optional<Entity> entity;
  if (operand.variable >= 0) {
    const auto index = static_cast<std::size_t>(operand.variable);
    const Variable& variable = function_.variables[index];
    *space = variable.space;
    if (variable.space == Space::local) return "(fp + " + hex(local_offsets_[index] + operand.value, 64) + ")";
    if (variable.space == Space::param) return "(u64)0";  // only ld.param and st.param by name: parameter_place()
    entity = names_.of_body_variable(function_, index);
  } else {
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
      if (function_.parameters[i].name != operand.name) continue;
      *space = Space::param;
      if (!function_.is_entry) fail("the address of a device function's parameter");
      return "((u64)" + hex(param_offsets_.empty() ? 0 : param_offsets_[i] + operand.value, 32) + ")";
    }
    entity = names_.find(module_, operand.name);
  }
  if (!entity) {
    fail("'" + std::string(operand.name).append("' is not declared"));
    return "0";
  }
  const std::string index = std::to_string(entity->index);
  switch (entity->kind) {
    case Entity::Kind::global:
      *space = names_.globals()[entity->index].constant ? Space::constant : Space::global;
      return "(c->globals[" + index + "]" + offset + ")";
    case Entity::Kind::shared:
      *space = Space::shared;
      result_.shared.push_back(entity->index);
      return "((u64)c->shared_offsets[" + index + "]" + offset + ")";
    case Entity::Kind::function:
      break;
  }
  *space = Space::generic;
  result_.called.push_back(entity->index);
  return hex(kFunctionAddress + entity->index, 64);
}

std::string FunctionTranslator::symbol_address(const Operand& operand, Type type) {
  if (!type.is_integer() || type.bits() < 32) fail("an address cannot be " + to_text(type));
  Space space = Space::generic;
  const std::string text = variable_address(operand, &space);
  return "((" + c_type(type) + ")" + text + ")";
}

std::string FunctionTranslator::address(const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::address) {
    fail("expected an address in brackets");
    return "0";
  }
  if (operand.reg != kNoRegister) {
    const Home home = homes_[operand.reg].home;
    const bool narrow = home == Home::u32 || home == Home::f32;
    const std::string base = register_value(operand.reg, narrow ? kU32 : kU64);
    if (operand.value == 0) return narrow ? "(u64)" + base : base;
    if (narrow) return "(u64)(u32)(" + base + " + " + hex(operand.value, 32) + ")";
    return "(" + base + " + " + hex(operand.value, 64) + ")";
  }
  if (operand.name.empty()) return hex(operand.value, 64);
  Space found = Space::generic;
  const std::string text = variable_address(operand, &found);
  const bool is_global = found == Space::global || found == Space::constant;
  const bool fits =
      found == space || (is_global && (space == Space::global || space == Space::generic || space == Space::constant));
  if (!fits && !failed()) fail("'" + std::string(operand.name).append("' lies in another state space"));
  return text;
}

}  // namespace cupool::simgpu::ptx
