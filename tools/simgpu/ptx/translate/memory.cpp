// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomics, copies.
#include <algorithm>

#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

std::string number(std::uint64_t value) {
  return std::to_string(value) + "u";
}

}  // namespace

Space FunctionTranslator::take_space() {
  const std::string_view word = modifiers_->take_any(
      {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func"});
  if (word == "global") return Space::global;
  if (word == "const") return Space::constant;
  if (word.starts_with("shared")) return Space::shared;
  if (word == "local") return Space::local;
  if (word.starts_with("param")) return Space::param;
  return Space::generic;
}

/// Orders, scopes and cache hints: the host's memory is stronger than any of them asks for.
void FunctionTranslator::take_memory_hints(bool* is_volatile) {
  const std::string_view order = modifiers_->take_any({"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"});
  *is_volatile = !order.empty() && order != "weak";
  modifiers_->take("mmio");
  modifiers_->take("sc");
  modifiers_->take_any({"cta", "cluster", "gpu", "sys"});
  modifiers_->take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  modifiers_->take("nc");
  for (const char* prefix : {"L1::", "L2::cache_hint", "L2::", "unified"}) modifiers_->take_prefix(prefix);
}

std::string FunctionTranslator::reach(Space space, const Operand& target, std::uint32_t size, bool write) {
  if (space == Space::param) return parameter_place(target, size, write);
  const std::string where = address(target, space);
  emit("u8* h;");
  const std::string last =
      number(size) + (space == Space::shared || space == Space::local ? (write ? ", 1, " : ", 0, ") : ", ") + line() + ")";
  const char* macro = space == Space::shared  ? "SG_SHARED(h, "
                      : space == Space::local ? "SG_LOCAL(h, "
                      : write                 ? "SG_WRITE(h, "
                                              : "SG_READ(h, ";
  emit(macro + where + ", " + last);
  return "h";
}

std::string FunctionTranslator::parameter_place(const Operand& target, std::uint32_t size, bool write) {
  if (target.kind != Operand::Kind::address) {
    fail("expected an address in brackets");
    return "0";
  }
  const auto within = [&](std::uint64_t bytes) {
    if (target.value > bytes || bytes - target.value < size) fail("beyond the end of '" + std::string(target.name).append("'"));
    if (target.value % size != 0) fail("not aligned");
  };
  if (target.variable >= 0) {
    const auto index = static_cast<std::size_t>(target.variable);
    const Variable& variable = function_.variables[index];
    if (variable.space != Space::param) fail("'" + std::string(target.name).append("' is not a .param variable"));
    within(variable.size);
    return "((u8*)v" + std::to_string(index) + " + " + number(target.value) + ")";
  }
  const auto find_in = [&](const std::vector<Variable>& list, const char* prefix) -> std::string {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].name != target.name || target.name.empty() || list[i].space == Space::reg) continue;
      within(list[i].size);
      if (function_.is_entry) {
        if (write) fail("a kernel's parameters cannot be written");
        return "(c->params + " + number(param_offsets_[i] + target.value) + ")";
      }
      return "(" + std::string(prefix) + std::to_string(i) + " + " + number(target.value) + ")";
    }
    return {};
  };
  std::string place = find_in(function_.parameters, "p");
  if (place.empty()) place = find_in(function_.returns, "q");
  if (!place.empty()) return place;
  if (target.reg == kNoRegister || write) {
    fail("parameter '" + std::string(target.name).append("' is not declared"));
    return "0";
  }
  return "c->rt->reach_param(c, " + address(target, Space::param) + ", " + number(size) + ", 0, " + line() + ")";
}

void FunctionTranslator::translate_ld() {
  bool is_volatile = false;
  take_memory_hints(&is_volatile);
  const Space space = take_space();
  const std::string_view vector = modifiers_->take_any({"v2", "v4", "v8"});
  const Type type = take_type();
  if (!expect_operands(2, 3)) return;  // a third one is a cache policy
  if (type.bits() > 64 || type.bits() < 8 || type.kind == Kind::predicate) return fail("type is not supported");
  const std::size_t count = vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
  const Operand& target = operand(0);
  if (count > 1 && (target.kind != Operand::Kind::vector || target.elements.size() != count))
    return fail("the vector has another length");
  if (count == 1 && target.kind == Operand::Kind::vector && target.elements.size() != 1)
    return fail("the vector has another length");
  const auto size = static_cast<std::uint32_t>(type.bytes() * count);
  if (size > 32) return fail("more than 32 bytes at once");
  std::string host = reach(space, operand(1), size, false);
  if (host != "h" && count > 1) {
    emit("u8* h = " + host + ";");
    host = "h";
  }
  const Type raw = type.is_float() ? Type{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1} : type;
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& element = target.kind == Operand::Kind::vector ? target.elements[i] : target;
    const std::string place = i == 0 ? host : host + " + " + number(i * type.bytes());
    assign(element, raw, std::string("*(") + (is_volatile ? "volatile " : "") + c_type(raw) + "*)(" + place + ")");
  }
}

void FunctionTranslator::translate_st() {
  bool is_volatile = false;
  take_memory_hints(&is_volatile);
  const Space space = take_space();
  const std::string_view vector = modifiers_->take_any({"v2", "v4", "v8"});
  const Type type = take_type();
  if (!expect_operands(2, 3)) return;
  if (type.bits() > 64 || type.bits() < 8 || type.kind == Kind::predicate) return fail("type is not supported");
  if (space == Space::constant) return fail("constants cannot be written");
  const std::size_t count = vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
  const Operand& source = operand(1);
  const std::size_t given = source.kind == Operand::Kind::vector ? source.elements.size() : 1;
  if (given != count) return fail("the vector has another length");
  const auto size = static_cast<std::uint32_t>(type.bytes() * count);
  if (size > 32) return fail("more than 32 bytes at once");
  const std::string host = reach(space, operand(0), size, true);
  const Type raw{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1};
  // A real constant in an f32 or f64 store takes that type.
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& element = source.kind == Operand::Kind::vector ? source.elements[i] : source;
    const std::string place = i == 0 ? host : host + " + " + number(i * type.bytes());
    if (element.kind == Operand::Kind::discard) return fail("nothing to store");
    emit(std::string("*(") + (is_volatile ? "volatile " : "") + c_type(raw) + "*)(" + place + ") = " + value(element, raw) + ";");
  }
}

void FunctionTranslator::translate_atom() {
  const bool is_reduction = instruction_->opcode == "red";
  bool unused = false;
  take_memory_hints(&unused);
  const Space space = take_space();
  const std::string_view op = modifiers_->take_any({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  const bool no_ftz = modifiers_->take("noftz");
  const Type type = take_type();
  const std::size_t first = is_reduction ? 0 : 1;
  const bool swap = op == "cas";
  const std::size_t count = first + (swap ? 3 : 2);
  if (!expect_operands(count, count + 1)) return;
  if (op.empty()) return fail("operation is not supported");
  if (is_reduction && (op == "exch" || swap)) return fail("operation is not supported");
  const bool integer = type.is_integer() && type.lanes == 1 && (type.width == 32 || type.width == 64);
  const bool half = type.width == 16 && type.is_float();
  const bool bitwise = op == "and" || op == "or" || op == "xor" || op == "exch" || swap;
  const bool counting = op == "inc" || op == "dec";
  bool fits = false;
  if (bitwise)
    fits = (type.is_integer() && integer) || (swap && type == kB16);
  else if (counting)
    fits = type == kU32;
  else if (op == "add")
    fits = (integer && type.kind != Kind::bits) || type == kF32 || type == kF64 || half;
  else
    fits = (integer && type.kind != Kind::bits) || half;
  if (!fits) return fail("type is not supported");
  if (space == Space::constant || space == Space::param) return fail("state space is not supported");
  std::string code = "SG_A_";
  for (const char letter : op) code += static_cast<char>(letter - 'a' + 'A');
  std::string kind;
  if (half)
    kind = std::string(type.kind == Kind::bfloat ? "SG_T_BF16" : "SG_T_F16") + (type.lanes == 2 ? "|SG_X2" : "");
  else if (type.is_float())
    kind = type == kF32 ? "SG_T_F32" : "SG_T_F64";
  else
    kind = std::string(type.is_signed() ? "SG_T_S" : "SG_T_U") + std::to_string(type.width);
  code += "|(" + kind + ")<<8";
  if (space == Space::shared) code += "|SG_A_SHARED";
  if (space == Space::local) code += "|SG_A_LOCAL";
  (void)no_ftz;  // f16 addition keeps denormals either way
  const Type raw{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1};
  const std::string a = "(u64)" + value(operand(first + 1), raw);
  const std::string b = swap ? "(u64)" + value(operand(first + 2), raw) : "0";
  const std::string text =
      "c->rt->atom(c, " + address(operand(first), space) + ", " + code + ", " + a + ", " + b + ", " + line() + ")";
  if (is_reduction) return emit(text + ";");
  assign(operand(0), raw, "(" + c_type(raw) + ")" + text);
}

/// cp.async: done at once, so waiting for groups is nothing.
void FunctionTranslator::translate_cp() {
  if (!modifiers_->take("async")) return fail("not supported");
  if (modifiers_->take("commit_group") || modifiers_->take("wait_all")) {
    expect_operands(0, 0);
    return;
  }
  if (modifiers_->take("wait_group")) {
    expect_operands(1, 1);
    return;
  }
  const std::string_view level = modifiers_->take_any({"ca", "cg"});
  const bool shared = !modifiers_->take_any({"shared", "shared::cta"}).empty();
  const bool global = modifiers_->take("global");
  for (const char* prefix : {"L2::cache_hint", "L2::"}) modifiers_->take_prefix(prefix);
  if (level.empty() || !shared || !global) return fail("not supported");
  if (!expect_operands(3, 5)) return;
  if (operand(2).kind != Operand::Kind::integer) return fail("the size is not a constant");
  const std::uint64_t size = operand(2).value;
  if (size != 4 && size != 8 && size != 16) return fail("the size is not 4, 8 or 16");
  std::string taken = number(size);
  if (instruction_->operands.size() >= 4) {
    const Operand& fourth = operand(3);
    const bool ignore = fourth.is_register() && homes_[fourth.reg].home == Home::predicate;
    const bool policy = fourth.is_register() && homes_[fourth.reg].home == Home::u64;
    if (ignore)
      taken = predicate(fourth) + " ? 0u : " + number(size);
    else if (!policy)
      taken = value(fourth, kU32);
  }
  emit("c->rt->async_copy(c, " + address(operand(0), Space::shared) + ", " + address(operand(1), Space::global) + ", " +
       number(size) + ", " + taken + ", " + line() + ");");
}

void FunctionTranslator::translate_no_effect() {
  // Hints and pauses: every modifier and operand is legal, and none can change a result.
  for (const std::string_view word : instruction_->modifiers) modifiers_->take(word);
}

void FunctionTranslator::translate_createpolicy() {
  for (const std::string_view word : instruction_->modifiers) modifiers_->take(word);
  assign(operand(0), kB64, "0");
}

/// The address of the same variable in a block of the cluster: there is only one.
void FunctionTranslator::translate_mapa() {
  take_space();
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type != kU32 && type != kU64) return fail("type is not supported");
  assign(operand(0), type, value(operand(1), type));
}

}  // namespace cupool::simgpu::ptx
