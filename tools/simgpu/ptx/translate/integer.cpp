// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic; add, sub, mul, mad, div, abs, neg, min and max hand floating-point types on to floating.cpp.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

Type as_unsigned(Type type) {
  return Type{Kind::unsigned_integer, type.width, type.lanes};
}
Type widened(Type type) {
  return Type{type.kind, static_cast<std::uint8_t>(type.width * 2), 1};
}

std::string suffix(Type type) {
  return std::string("_") + (type.is_signed() ? "s" : "u") + std::to_string(type.width);
}

std::string call(const std::string& name, const std::string& a, const std::string& b) {
  return name + "(" + a + ", " + b + ")";
}

}  // namespace

void FunctionTranslator::integer_add(Type type, bool subtract) {
  const bool carry_out = modifiers_->take("cc");
  const bool saturate = modifiers_->take("sat");
  const Type raw = as_unsigned(type);
  if (type.lanes == 2) return packed_integer(type, subtract ? "-" : "+");
  if (saturate) {
    if (type != kS32) return fail(".sat needs .s32");
    return assign(operand(0), raw, call(subtract ? "sg_sub_sat" : "sg_add_sat", value(operand(1), raw), value(operand(2), raw)));
  }
  const std::string a = value(operand(1), raw);
  const std::string b = value(operand(2), raw);
  if (!carry_out) return assign(operand(0), type, "(" + c_type(raw) + ")(" + a + (subtract ? " - " : " + ") + b + ")");
  if (type.width < 32) return fail(".cc needs 32 or 64 bits");
  const std::string left = declare_temporary(c_type(raw).c_str(), a);
  const std::string right = declare_temporary(c_type(raw).c_str(), b);
  assign(operand(0), raw, left + (subtract ? " - " : " + ") + right);
  // For subtraction the flag is the borrow.
  emit("cc = " + (subtract ? left + " < " + right : "(" + c_type(raw) + ")(" + left + " + " + right + ") < " + left) + ";");
}

/// Two 16-bit lanes at once.
void FunctionTranslator::packed_integer(Type type, const std::string& op) {
  const std::string a = declare_temporary("u32", value(operand(1), kB32));
  const std::string b = declare_temporary("u32", value(operand(2), kB32));
  const char* lane = type.is_signed() ? "(s16)" : "(u16)";
  const auto one = [&](const char* shift) {
    const std::string x = std::string(lane) + "(" + a + shift + ")";
    const std::string y = std::string(lane) + "(" + b + shift + ")";
    if (op == "min") return "(" + x + " < " + y + " ? " + x + " : " + y + ")";
    if (op == "max") return "(" + x + " > " + y + " ? " + x + " : " + y + ")";
    return "(" + x + " " + op + " " + y + ")";
  };
  assign(operand(0), kB32, "(u32)(u16)" + one("") + " | (u32)(u16)" + one(">>16") + " << 16");
}

void FunctionTranslator::translate_add() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type.is_float()) return float_binary(type, "+");
  integer_add(type, false);
}

void FunctionTranslator::translate_sub() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type.is_float()) return float_binary(type, "-");
  integer_add(type, true);
}

std::string FunctionTranslator::mul_high(Type type, const std::string& a, const std::string& b) {
  const bool is_signed = type.is_signed();
  if (type.width == 64) return std::string("c->rt->mulhi_") + (is_signed ? "s64" : "u64") + "(" + a + ", " + b + ")";
  if (type.width == 32) return call(is_signed ? "sg_mulhi_s32" : "sg_mulhi_u32", a, b);
  if (is_signed) return "(u16)(((s32)(s16)" + a + " * (s32)(s16)" + b + ") >> 16)";
  return "(u16)(((u32)" + a + " * (u32)" + b + ") >> 16)";
}

void FunctionTranslator::integer_mul(Type type, const Operand* addend) {
  const std::string_view part = modifiers_->take_any({"lo", "hi", "wide"});
  const bool saturate = modifiers_->take("sat");
  const bool carry_out = modifiers_->take("cc");
  const Type raw = as_unsigned(type);
  if (part.empty()) return fail(".lo, .hi or .wide is missing");
  if (type.width < 16 || type.lanes != 1) return fail("type is not supported");
  if (part == "wide") {
    if (type.width == 64 || carry_out || saturate) return fail(".wide needs 16 or 32 bits and nothing else");
    const Type wide = widened(type);
    const std::string left = "(" + c_type(wide) + ")" + value(operand(1), type);
    const std::string right = "(" + c_type(wide) + ")" + value(operand(2), type);
    const std::string raw_wide = c_type(as_unsigned(wide));
    // 16-bit unsigned factors are promoted to int: their product must not overflow it.
    const std::string product = type.width == 16 && !type.is_signed() ? "(u32)" + left + " * (u32)" + right : left + " * " + right;
    std::string sum = "(" + raw_wide + ")(" + product + ")";
    if (addend != nullptr) sum = "(" + raw_wide + ")(" + sum + " + " + value(*addend, as_unsigned(wide)) + ")";
    return assign(operand(0), as_unsigned(wide), sum);
  }
  const std::string a = value(operand(1), raw);
  const std::string b = value(operand(2), raw);
  std::string product;
  if (part == "hi")
    product = mul_high(type, a, b);
  else
    product = type.width == 16 ? "(u16)((u32)" + a + " * (u32)" + b + ")" : "(" + a + " * " + b + ")";
  if (addend == nullptr) {
    if (saturate || carry_out) return fail("neither .sat nor .cc belongs to mul");
    return assign(operand(0), raw, product);
  }
  const std::string c = value(*addend, raw);
  if (saturate) {
    if (type != kS32 || part != "hi") return fail(".sat needs .hi.s32");
    return assign(operand(0), raw, call("sg_add_sat", product, c));
  }
  if (!carry_out) return assign(operand(0), raw, "(" + c_type(raw) + ")(" + product + " + " + c + ")");
  const std::string left = declare_temporary(c_type(raw).c_str(), product);
  const std::string right = declare_temporary(c_type(raw).c_str(), c);
  assign(operand(0), raw, left + " + " + right);
  emit("cc = (" + c_type(raw) + ")(" + left + " + " + right + ") < " + left + ";");
}

void FunctionTranslator::translate_mul() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type.is_float()) return float_binary(type, "*");
  integer_mul(type, nullptr);
}

void FunctionTranslator::translate_mad() {
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (type.is_float()) return float_fma(type, true);
  integer_mul(type, &operand(3));
}

void FunctionTranslator::translate_mad24() {
  const bool multiply_add = instruction_->opcode == "mad24";
  const std::string_view part = modifiers_->take_any({"lo", "hi"});
  const Type type = take_type();
  if (!expect_operands(multiply_add ? 4 : 3, multiply_add ? 4 : 3)) return;
  if (type != kU32 && type != kS32) return fail("needs .u32 or .s32");
  if (part.empty()) return fail(".lo or .hi is missing");
  const auto low24 = [&](const Operand& given) {
    const std::string raw = value(given, kU32);
    return type == kS32 ? "(s64)((s32)(" + raw + " << 8) >> 8)" : "(u64)(" + raw + " & 0xffffffu)";
  };
  std::string product =
      "(u32)(" + std::string("(u64)(") + low24(operand(1)) + " * " + low24(operand(2)) + ")" + (part == "hi" ? " >> 16" : "") + ")";
  if (multiply_add) product += " + " + value(operand(3), kU32);
  assign(operand(0), kU32, product);
}

/// addc, subc and madc: with the carry of the last .cc instruction.
void FunctionTranslator::translate_carry() {
  const bool multiply = instruction_->opcode == "madc";
  const bool subtract = instruction_->opcode == "subc";
  const std::string_view part = modifiers_->take_any({"lo", "hi"});
  const bool carry_out = modifiers_->take("cc");
  const Type type = take_type();
  if (!expect_operands(multiply ? 4 : 3, multiply ? 4 : 3)) return;
  if (!type.is_integer() || type.width < 32 || type.lanes != 1 || multiply == part.empty()) return fail("type is not supported");
  const Type raw = as_unsigned(type);
  const std::string a = value(operand(1), raw);
  const std::string b = value(operand(2), raw);
  std::string left = a;
  if (multiply) left = part == "hi" ? mul_high(type, a, b) : "(" + a + " * " + b + ")";
  const std::string c_name = c_type(raw);
  const std::string x = declare_temporary(c_name.c_str(), left);
  const std::string y = declare_temporary(c_name.c_str(), multiply ? value(operand(3), raw) : b);
  const std::string carry = declare_temporary("u32", "cc");
  const std::string sum = subtract ? x + " - " + y + " - " + carry : x + " + " + y + " + " + carry;
  const std::string total = declare_temporary(c_name.c_str(), sum);
  assign(operand(0), raw, total);
  if (!carry_out) return;
  if (subtract) return emit("cc = " + x + " < " + y + " || (" + x + " == " + y + " && " + carry + ");");
  emit("cc = " + total + " < " + x + " || (" + total + " == " + x + " && " + carry + ");");
}

void FunctionTranslator::translate_div() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (type.is_float()) return float_binary(type, "/");
  const Type raw = as_unsigned(type);
  if (type.width >= 32)
    return assign(operand(0), raw, call("sg_div" + suffix(type), value(operand(1), raw), value(operand(2), raw)));
  const Type wide = type.is_signed() ? kS32 : kU32;
  assign(operand(0), type, call("sg_div" + suffix(wide), "(u32)" + value(operand(1), type), "(u32)" + value(operand(2), type)));
}

void FunctionTranslator::translate_rem() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (!type.is_integer()) return fail("type is not supported");
  const Type raw = as_unsigned(type);
  if (type.width >= 32)
    return assign(operand(0), raw, call("sg_rem" + suffix(type), value(operand(1), raw), value(operand(2), raw)));
  const Type wide = type.is_signed() ? kS32 : kU32;
  assign(operand(0), type, call("sg_rem" + suffix(wide), "(u32)" + value(operand(1), type), "(u32)" + value(operand(2), type)));
}

void FunctionTranslator::translate_abs() {
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (type.is_float()) return float_sign(type, false);
  if (!type.is_signed() || type.lanes != 1) return fail("type is not supported");
  const std::string a = declare_temporary(c_type(type).c_str(), value(operand(1), type));
  const std::string raw = c_type(as_unsigned(type));
  assign(operand(0), as_unsigned(type), a + " < 0 ? (" + raw + ")(0 - (" + raw + ")" + a + ") : (" + raw + ")" + a);
}

void FunctionTranslator::translate_neg() {
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (type.is_float()) return float_sign(type, true);
  if (!type.is_signed() || type.lanes != 1) return fail("type is not supported");
  const Type raw = as_unsigned(type);
  assign(operand(0), raw, "(" + c_type(raw) + ")(0 - " + value(operand(1), raw) + ")");
}

void FunctionTranslator::integer_min_max(Type type, bool is_max) {
  const bool relu = modifiers_->take("relu");
  if (type.kind == Kind::bits || type.width < 16) return fail("type is not supported");
  if (type.lanes == 2) {
    if (relu) return fail(".relu is not supported here");
    return packed_integer(type, is_max ? "max" : "min");
  }
  if (relu && type != kS32) return fail(".relu needs .s32");
  const std::string name = c_type(type);
  const std::string a = declare_temporary(name.c_str(), value(operand(1), type));
  const std::string b = declare_temporary(name.c_str(), value(operand(2), type));
  std::string result = "(" + a + (is_max ? " > " : " < ") + b + " ? " + a + " : " + b + ")";
  if (relu) {
    const std::string kept = declare_temporary(name.c_str(), result);
    result = "(" + kept + " > 0 ? " + kept + " : 0)";
  }
  assign(operand(0), type, result);
}

void FunctionTranslator::translate_min_max() {
  const bool is_max = instruction_->opcode == "max";
  const Type type = take_type();
  if (type.is_float()) return float_min_max(type, is_max);
  if (!expect_operands(3, 3)) return;
  integer_min_max(type, is_max);
}

void FunctionTranslator::translate_sad() {
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (!type.is_integer() || type.kind == Kind::bits || type.width < 16 || type.lanes != 1) return fail("type is not supported");
  const std::string name = c_type(type);
  const std::string raw = c_type(as_unsigned(type));
  const std::string a = declare_temporary(name.c_str(), value(operand(1), type));
  const std::string b = declare_temporary(name.c_str(), value(operand(2), type));
  const std::string distance =
      a + " < " + b + " ? (" + raw + ")" + b + " - (" + raw + ")" + a + " : (" + raw + ")" + a + " - (" + raw + ")" + b;
  assign(operand(0), as_unsigned(type),
         "(" + raw + ")(" + value(operand(3), as_unsigned(type)) + " + (" + raw + ")(" + distance + "))");
}

}  // namespace cupool::simgpu::ptx
