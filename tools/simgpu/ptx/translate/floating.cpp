// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic: f32 and f64 by the host's own, everything else by helpers.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

bool is_host(Type type) {
  return type == kF32 || type == kF64;
}
bool is_half(Type type) {
  return type.width == 16 && (type.kind == Kind::ieee || type.kind == Kind::bfloat);
}
std::string width_of(Type type) {
  return std::to_string(type.width);
}

const char* operation(std::string_view op) {
  if (op == "+") return "SG_ADD";
  if (op == "-") return "SG_SUB";
  if (op == "*") return "SG_MUL";
  return "SG_DIV";
}

}  // namespace

/// The rounding mode as a number of abi.h; approximations are rounded like everything else.
std::string FunctionTranslator::rounding(const char* fallback) {
  const std::string_view mode = modifiers_->take_any({"rn", "rz", "rm", "rp"});
  if (mode.empty()) return fallback;
  return mode == "rn" ? "SG_RN" : mode == "rz" ? "SG_RZ" : mode == "rm" ? "SG_RM" : "SG_RP";
}

void FunctionTranslator::finish_float(const Operand& target, Type type, std::string expression, bool ftz, bool saturate) {
  if (saturate) expression = "sg_sat" + width_of(type) + "(" + expression + ")";
  assign(target, type, flush(expression, ftz), true);
}

void FunctionTranslator::float_binary(Type type, const char* op) {
  if (type.lanes == 2 && type.width == 32) return packed_float(type, op);
  if (is_half(type)) {
    if (std::string_view(op) == "/") return fail("type is not supported");
    return half_operation(type, operation(op), 2);
  }
  if (!is_host(type)) return fail("type is not supported");
  const bool is_division = std::string_view(op) == "/";
  const bool approximate = is_division && (modifiers_->take("full") || modifiers_->take("approx"));
  const std::string mode = rounding("SG_RN");
  const bool ftz = modifiers_->take("ftz");
  const bool saturate = modifiers_->take("sat");
  if (is_division && !approximate && type == kF64 && saturate) return fail(".sat is not supported here");
  if (ftz && type != kF32) return fail(".ftz needs .f32");
  const std::string a = flush(value(operand(1), type), ftz);
  const std::string b = flush(value(operand(2), type), ftz);
  std::string result = a + " " + op + " " + b;
  if (mode != "SG_RN") {
    result = "c->rt->op" + width_of(type) + "(" + operation(op) + ", " + mode + ", " + a + ", " + b + ", 0)";
  }
  finish_float(operand(0), type, result, ftz, saturate);
}

/// f32x2: two floats in 64 bits.
void FunctionTranslator::packed_float(Type type, const std::string& op) {
  const std::string mode = rounding("SG_RN");
  const bool ftz = modifiers_->take("ftz");
  const std::size_t sources = op == "fma" ? 3 : 2;
  if (!expect_operands(sources + 1, sources + 1) || type.kind != Kind::ieee) return;
  std::vector<std::string> in;
  for (std::size_t i = 1; i <= sources; ++i) in.push_back(declare_temporary("u64", value(operand(i), kB64)));
  const auto lane = [&](std::size_t i, bool high) {
    return flush("sg_f32((u32)" + std::string(high ? "(" + in[i] + " >> 32)" : in[i]) + ")", ftz);
  };
  const std::string name = op == "fma" ? "SG_FMA" : operation(op);
  std::string halves[2];
  for (int high = 0; high < 2; ++high) {
    const std::string third = sources == 3 ? lane(2, high != 0) : "0";
    const std::string result =
        "c->rt->op32(" + name + ", " + mode + ", " + lane(0, high != 0) + ", " + lane(1, high != 0) + ", " + third + ")";
    halves[high] = declare_temporary("float", flush(result, ftz));
  }
  assign(operand(0), kB64, "(u64)BITS32(" + halves[0] + ") | (u64)BITS32(" + halves[1] + ") << 32");
}

void FunctionTranslator::half_operation(Type type, const char* op, std::size_t sources) {
  if (!expect_operands(sources + 1, sources + 1)) return;
  modifiers_->take("rn");
  modifiers_->take("approx");
  std::string flags = "0";
  if (modifiers_->take("ftz")) flags += "|SG_H_FTZ";
  if (modifiers_->take("sat")) flags += "|SG_H_SAT";
  if (modifiers_->take("relu")) flags += "|SG_H_RELU";
  if (modifiers_->take("NaN")) flags += "|SG_H_NAN";
  if (modifiers_->take("xorsign")) flags += modifiers_->take("abs") ? "|SG_H_XORSIGN" : "";
  const std::string head = std::string("c->rt->half_op(") + op + ", " + (type.kind == Kind::bfloat ? "1" : "0") + ", " + flags;
  const Type raw{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1};
  std::vector<std::string> in;
  for (std::size_t i = 1; i <= sources; ++i) in.push_back(declare_temporary("u32", "(u32)" + value(operand(i), raw)));
  const auto lane = [&](const char* shift) {
    std::string text = head;
    for (std::size_t i = 0; i < 3; ++i) text += i < in.size() ? ", (" + in[i] + shift + ") & 0xffffu" : ", 0";
    return text + ")";
  };
  if (type.lanes == 1) return assign(operand(0), raw, lane(""));
  assign(operand(0), raw, lane("") + " | " + lane(" >> 16") + " << 16");
}

void FunctionTranslator::float_fma(Type type, bool is_mad) {
  if (type.lanes == 2 && type.width == 32) return packed_float(type, "fma");
  if (is_half(type)) {
    if (is_mad) return fail("type is not supported");
    return half_operation(type, "SG_FMA", 3);
  }
  if (!is_host(type)) return fail("type is not supported");
  if (!expect_operands(4, 4)) return;
  const std::string mode = rounding("SG_RN");
  const bool ftz = modifiers_->take("ftz");
  const bool saturate = modifiers_->take("sat");
  std::string in;
  for (std::size_t i = 1; i <= 3; ++i) in += (i == 1 ? "" : ", ") + flush(value(operand(i), type), ftz);
  const std::string result = mode == "SG_RN" ? "SG_FMA" + width_of(type) + "(" + in + ")"
                                             : "c->rt->op" + width_of(type) + "(SG_FMA, " + mode + ", " + in + ")";
  finish_float(operand(0), type, result, ftz, saturate);
}

void FunctionTranslator::translate_fma() {
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (!type.is_float()) return fail("type is not supported");
  float_fma(type, false);
}

void FunctionTranslator::float_min_max(Type type, bool is_max) {
  if (is_half(type)) return half_operation(type, is_max ? "SG_MAX" : "SG_MIN", 2);
  if (!is_host(type)) return fail("type is not supported");
  if (!expect_operands(3, 4)) return;
  const bool ftz = modifiers_->take("ftz");
  const bool nan = modifiers_->take("NaN");
  const bool xor_sign = modifiers_->take("xorsign") && modifiers_->take("abs");
  if (type == kF64 && (ftz || nan || xor_sign || instruction_->operands.size() == 4)) return fail("modifier needs .f32");
  if (xor_sign && instruction_->operands.size() == 4) return fail(".xorsign.abs takes two operands");
  const std::string c_name = c_type(type);
  const std::string name = std::string(is_max ? "sg_max" : "sg_min") + width_of(type);
  std::vector<std::string> in;
  for (std::size_t i = 1; i < instruction_->operands.size(); ++i) {
    in.push_back(declare_temporary(c_name.c_str(), flush(value(operand(i), type), ftz)));
  }
  std::string sign;
  if (xor_sign) {
    sign = declare_temporary("u32", "(sg_b32(" + in[0] + ") ^ sg_b32(" + in[1] + ")) & 0x80000000u");
    for (std::string& each : in) each = declare_temporary("float", "sg_f32(sg_b32(" + each + ") & 0x7fffffffu)");
  }
  std::string result = name + "(" + in[0] + ", " + in[1] + ")";
  if (in.size() == 3) result = name + "(" + result + ", " + in[2] + ")";
  if (nan) {
    std::string any;
    for (const std::string& each : in) any += (any.empty() ? "" : " || ") + each + " != " + each;
    result = "((" + any + ") ? sg_f32(0x7fffffffu) : " + result + ")";
  }
  if (xor_sign) result = "sg_f32(sg_b32(" + result + ") | " + sign + ")";
  assign(operand(0), type, result, true);
}

void FunctionTranslator::float_sign(Type type, bool negate) {
  if (!expect_operands(2, 2)) return;
  const bool ftz = modifiers_->take("ftz");
  const std::string op = negate ? " ^ " : " & ";
  if (is_half(type)) {
    const Type raw{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1};
    const char* mask = type.lanes == 2 ? (negate ? "0x80008000u" : "0x7fff7fffu") : (negate ? "0x8000u" : "0x7fffu");
    if (ftz) {
      // Subnormal halves become zeros: a product with one does exactly that.
      return half_operation(type, negate ? "SG_NEG" : "SG_ABS", 1);
    }
    return assign(operand(0), raw, value(operand(1), raw) + op + mask);
  }
  if (!is_host(type)) return fail("type is not supported");
  if (ftz && type != kF32) return fail(".ftz needs .f32");
  const std::string a = flush(value(operand(1), type), ftz);
  if (type == kF32) {
    return assign(operand(0), type, "sg_f32(sg_b32(" + a + ")" + op + (negate ? "0x80000000u" : "0x7fffffffu") + ")", true);
  }
  assign(operand(0), type, "sg_f64(sg_b64(" + a + ")" + op + (negate ? "0x8000000000000000ULL" : "0x7fffffffffffffffULL") + ")",
         true);
}

void FunctionTranslator::translate_unary_float() {
  const std::string_view opcode = instruction_->opcode;
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  const bool exactly_rounded = opcode == "rcp" || opcode == "sqrt";
  const char* op = opcode == "rcp"     ? "SG_RCP"
                   : opcode == "sqrt"  ? "SG_SQRT"
                   : opcode == "rsqrt" ? "SG_RSQRT"
                   : opcode == "sin"   ? "SG_SIN"
                   : opcode == "cos"   ? "SG_COS"
                   : opcode == "lg2"   ? "SG_LG2"
                   : opcode == "ex2"   ? "SG_EX2"
                                       : "SG_TANH";
  if (is_half(type)) {
    if (opcode != "ex2" && opcode != "tanh") return fail("type is not supported");
    return half_operation(type, op, 1);
  }
  if (!is_host(type)) return fail("type is not supported");
  const bool approximate = modifiers_->take("approx");
  const std::string mode = exactly_rounded ? rounding("") : "";
  if (approximate == !mode.empty()) return fail("needs .approx or a rounding mode");
  const bool ftz = modifiers_->take("ftz") && type == kF32;
  if (type == kF64 && !exactly_rounded && opcode != "rsqrt") return fail("type is not supported");
  const std::string a = flush(value(operand(1), type), ftz);
  std::string result;
  if (!exactly_rounded && type == kF32) {
    result = std::string("c->rt->approx32(") + op + ", " + a + ")";
  } else if (approximate || mode == "SG_RN") {
    if (opcode == "rcp")
      result = (type == kF32 ? "1.0f / " : "1.0 / ") + a;
    else if (opcode == "sqrt")
      result = "SG_SQRT" + width_of(type) + "(" + a + ")";
    else
      result = std::string("c->rt->op64(") + op + ", SG_RN, " + a + ", 0, 0)";
  } else {
    result = "c->rt->op" + width_of(type) + "(" + op + ", " + mode + ", " + a + ", 0, 0)";
  }
  finish_float(operand(0), type, result, ftz, false);
}

void FunctionTranslator::translate_copysign() {
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (!is_host(type)) return fail("type is not supported");
  // The sign of the first operand, the magnitude of the second.
  const Type raw{Kind::bits, type.width, 1};
  const char* sign = type == kF32 ? "0x80000000u" : "0x8000000000000000ULL";
  const std::string bits = "(" + value(operand(1), raw) + " & " + sign + ") | (" + value(operand(2), raw) + " & ~" + sign + ")";
  assign(operand(0), raw, bits);
}

void FunctionTranslator::translate_testp() {
  const std::string_view what = modifiers_->take_any({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (!is_host(type) || what.empty()) return fail("type or test is not supported");
  const bool is_single = type == kF32;
  const std::string unit = is_single ? "u" : "ULL";
  const std::string infinity = (is_single ? "0x7f800000" : "0x7ff0000000000000") + unit;
  const std::string least_normal = (is_single ? "0x00800000" : "0x0010000000000000") + unit;
  const std::string mask = (is_single ? "0x7fffffff" : "0x7fffffffffffffff") + unit;
  const std::string a =
      declare_temporary(is_single ? "u32" : "u64", value(operand(1), Type{Kind::bits, type.width, 1}) + " & " + mask);
  std::string test;
  if (what == "finite")
    test = a + " < " + infinity;
  else if (what == "infinite")
    test = a + " == " + infinity;
  else if (what == "number")
    test = a + " <= " + infinity;
  else if (what == "notanumber")
    test = a + " > " + infinity;
  else if (what == "normal")
    test = a + " >= " + least_normal + " && " + a + " < " + infinity;
  else
    test = a + " < " + least_normal + " && " + a + " != 0";
  assign_predicate(operand(0), test);
}

}  // namespace cupool::simgpu::ptx
