// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, bit fields, byte permutation.
#include <array>

#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

Type raw_of(Type type) {
  return Type{Kind::unsigned_integer, type.width, 1};
}
std::string number(std::uint32_t value) {
  return std::to_string(value) + "u";
}

}  // namespace

void FunctionTranslator::translate_logic() {
  const std::string_view opcode = instruction_->opcode;
  const std::string op = opcode == "and" ? " & " : opcode == "or" ? " | " : " ^ ";
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type.kind == Kind::predicate) return assign_predicate(operand(0), predicate(operand(1)) + op + predicate(operand(2)));
  if (type.kind != Kind::bits || type.width < 16) return fail("needs .pred, .b16, .b32 or .b64");
  assign(operand(0), type, value(operand(1), type) + op + value(operand(2), type));
}

void FunctionTranslator::translate_not() {
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  const bool logical = instruction_->opcode == "cnot";
  if (type.kind == Kind::predicate && !logical) return assign_predicate(operand(0), "!" + predicate(operand(1)));
  if (type.kind != Kind::bits || type.width < 16) return fail("needs .pred, .b16, .b32 or .b64");
  assign(operand(0), type, (logical ? "!" : "~") + value(operand(1), type));
}

void FunctionTranslator::translate_lop3() {
  const std::string_view boolean = modifiers_->take_any({"or", "and"});
  const Type type = take_type();
  if (!boolean.empty()) return fail(".BoolOp is not supported");
  if (!expect_operands(5, 5)) return;
  if (type != kB32 || operand(4).kind != Operand::Kind::integer) return fail("needs .b32 and a constant table");
  const auto table = static_cast<std::uint32_t>(operand(4).value);
  const std::string a = declare_temporary("u32", value(operand(1), kB32));
  const std::string b = declare_temporary("u32", value(operand(2), kB32));
  const std::string c = declare_temporary("u32", value(operand(3), kB32));
  // The table's bit 4a + 2b + c is the result for those three bits.
  std::string text;
  for (std::uint32_t row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    text += (text.empty() ? "" : " | ") + std::string("(") + ((row & 4) != 0 ? "" : "~") + a + " & " + ((row & 2) != 0 ? "" : "~") +
            b + " & " + ((row & 1) != 0 ? "" : "~") + c + ")";
  }
  assign(operand(0), kB32, text.empty() ? "0u" : text);
}

void FunctionTranslator::translate_shift() {
  const bool left = instruction_->opcode == "shl";
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (!type.is_integer() || type.width < 16 || type.lanes != 1) return fail("type is not supported");
  const bool arithmetic = type.is_signed();
  if (type.width == 16) {
    const std::string amount = declare_temporary("u32", value(operand(2), kU32));
    if (left) return assign(operand(0), type, "sg_shl32((u32)" + value(operand(1), raw_of(type)) + ", " + amount + ")");
    if (arithmetic) return assign(operand(0), type, "sg_shr_s32((u32)(s32)" + value(operand(1), type) + ", " + amount + ")");
    return assign(operand(0), type, "sg_shr_u32((u32)" + value(operand(1), raw_of(type)) + ", " + amount + ")");
  }
  const std::string a = value(operand(1), raw_of(type));
  if (operand(2).kind == Operand::Kind::integer && operand(2).value < type.width) {
    const std::string amount = number(static_cast<std::uint32_t>(operand(2).value));
    if (arithmetic && !left) return assign(operand(0), type, "(" + c_type(type) + ")" + a + " >> " + amount);
    return assign(operand(0), raw_of(type), a + (left ? " << " : " >> ") + amount);
  }
  const std::string width = std::to_string(type.width);
  const std::string name = left ? "sg_shl" + width : std::string("sg_shr_") + (arithmetic ? "s" : "u") + width;
  assign(operand(0), raw_of(type), name + "(" + a + ", " + value(operand(2), kU32) + ")");
}

void FunctionTranslator::translate_funnel_shift() {
  const std::string_view direction = modifiers_->take_any({"l", "r"});
  const std::string_view mode = modifiers_->take_any({"clamp", "wrap"});
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (direction.empty() || mode.empty() || type != kB32) return fail("needs .l or .r, .clamp or .wrap, and .b32");
  const std::string amount = value(operand(3), kU32);
  const std::string used = mode == "wrap" ? "(" + amount + " & 31u)" : declare_temporary("u32", amount);
  const std::string clamped = mode == "wrap" ? used : "(" + used + " > 32u ? 32u : " + used + ")";
  assign(operand(0), kB32,
         std::string("sg_shf_").append(direction) + "(" + value(operand(1), kU32) + ", " + value(operand(2), kU32) + ", " +
             clamped + ")");
}

void FunctionTranslator::translate_bit_count() {
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (type != kB32 && type != kB64) return fail("needs .b32 or .b64");
  const std::string a = "(u64)" + value(operand(1), type);
  const std::string width = number(type.width);
  if (instruction_->opcode == "popc") return assign(operand(0), kU32, "c->rt->popc(" + a + ")");
  if (instruction_->opcode == "clz") return assign(operand(0), kU32, "c->rt->clz(" + a + ", " + width + ")");
  assign(operand(0), type, "c->rt->brev(" + a + ", " + width + ")");
}

void FunctionTranslator::translate_bfind() {
  const bool shift_amount = modifiers_->take("shiftamt");
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (!type.is_integer() || type.kind == Kind::bits || type.width < 32) return fail("type is not supported");
  assign(operand(0), kU32,
         "c->rt->bfind((u64)" + value(operand(1), raw_of(type)) + ", " + number(type.width) + ", " +
             (type.is_signed() ? "1" : "0") + ", " + (shift_amount ? "1" : "0") + ")");
}

void FunctionTranslator::translate_fns() {
  if (take_type() != kB32) return fail("needs .b32");
  if (!expect_operands(4, 4)) return;
  assign(operand(0), kU32,
         "c->rt->fns(" + value(operand(1), kU32) + ", " + value(operand(2), kU32) + ", " + value(operand(3), kS32) + ")");
}

void FunctionTranslator::translate_bfe() {
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (!type.is_integer() || type.width < 32) return fail("type is not supported");
  assign(operand(0), raw_of(type),
         "c->rt->bfe((u64)" + value(operand(1), raw_of(type)) + ", " + value(operand(2), kU32) + ", " + value(operand(3), kU32) +
             ", " + number(type.width) + ", " + (type.is_signed() ? "1" : "0") + ")");
}

void FunctionTranslator::translate_bfi() {
  const Type type = take_type();
  if (!expect_operands(5, 5)) return;
  if (type != kB32 && type != kB64) return fail("needs .b32 or .b64");
  assign(operand(0), type,
         "c->rt->bfi((u64)" + value(operand(1), type) + ", (u64)" + value(operand(2), type) + ", " + value(operand(3), kU32) +
             ", " + value(operand(4), kU32) + ", " + number(type.width) + ")");
}

void FunctionTranslator::translate_szext() {
  const std::string_view mode = modifiers_->take_any({"clamp", "wrap"});
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (mode.empty() || (type != kU32 && type != kS32)) return fail("needs .clamp or .wrap, and .u32 or .s32");
  const std::string a = declare_temporary("u32", value(operand(1), kU32));
  const std::string n = declare_temporary("u32", value(operand(2), kU32) + (mode == "wrap" ? " & 31u" : ""));
  const std::string extended =
      type == kS32 ? "(u32)((s32)(" + a + " << (32u - " + n + ")) >> (32u - " + n + "))" : "(" + a + " & ((1u << " + n + ") - 1u))";
  assign(operand(0), kU32, n + " == 0 ? 0u : " + n + " > 31u ? " + a + " : " + extended);
}

void FunctionTranslator::translate_bmsk() {
  const std::string_view mode = modifiers_->take_any({"clamp", "wrap"});
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (mode.empty() || type != kB32) return fail("needs .clamp or .wrap, and .b32");
  const char* mask = mode == "wrap" ? " & 31u" : "";
  const std::string from = declare_temporary("u32", value(operand(1), kU32) + mask);
  const std::string count = declare_temporary("u32", value(operand(2), kU32) + mask);
  assign(operand(0), kU32, "sg_shl32((" + count + " > 31u ? 0xffffffffu : (1u << " + count + ") - 1u), " + from + ")");
}

void FunctionTranslator::translate_prmt() {
  static constexpr std::array<std::string_view, 7> kModes{"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  const Type type = take_type();
  const std::string_view mode = modifiers_->take_any({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (!expect_operands(4, 4)) return;
  if (type != kB32) return fail("needs .b32");
  std::uint32_t index = 0;
  while (kModes[index] != mode) ++index;
  assign(operand(0), kU32,
         "c->rt->prmt(" + value(operand(1), kU32) + ", " + value(operand(2), kU32) + ", " + value(operand(3), kU32) + ", " +
             number(index) + ")");
}

void FunctionTranslator::translate_dot_product() {
  const bool four = instruction_->opcode == "dp4a";
  const std::string_view half = four ? std::string_view{} : modifiers_->take_any({"lo", "hi"});
  const Type a_type = take_type();
  const Type b_type = take_type("the second type");
  if (!expect_operands(4, 4)) return;
  if ((a_type != kU32 && a_type != kS32) || (b_type != kU32 && b_type != kS32) || (!four && half.empty()))
    return fail("type is not supported");
  std::string text = four ? "c->rt->dp4a(" : "c->rt->dp2a(";
  for (std::size_t i = 1; i <= 3; ++i) text += value(operand(i), kU32) + ", ";
  text += std::string(a_type == kS32 ? "1" : "0") + ", " + (b_type == kS32 ? "1" : "0");
  if (!four) text += half == "hi" ? ", 1" : ", 0";
  assign(operand(0), kU32, text + ")");
}

}  // namespace cupool::simgpu::ptx
