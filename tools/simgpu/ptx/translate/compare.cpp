// SPDX-License-Identifier: Apache-2.0
// Comparisons and selections.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

bool is_half(Type type) {
  return type.width == 16 && (type.kind == Kind::ieee || type.kind == Kind::bfloat);
}
const std::initializer_list<std::string_view> kComparisons{"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                                           "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

std::string float_comparison(std::string_view op, const std::string& a, const std::string& b) {
  const std::string unordered = "(" + a + " != " + a + " || " + b + " != " + b + ")";
  if (op == "eq") return "(" + a + " == " + b + ")";
  if (op == "lt") return "(" + a + " < " + b + ")";
  if (op == "le") return "(" + a + " <= " + b + ")";
  if (op == "gt") return "(" + a + " > " + b + ")";
  if (op == "ge") return "(" + a + " >= " + b + ")";
  if (op == "ne") return "(" + a + " < " + b + " || " + a + " > " + b + ")";
  if (op == "neu") return "(" + a + " != " + b + ")";
  if (op == "nan") return unordered;
  if (op == "num") return "(" + a + " == " + a + " && " + b + " == " + b + ")";
  if (op == "equ") return "(" + a + " == " + b + " || " + unordered + ")";
  if (op == "ltu") return "(" + a + " < " + b + " || " + unordered + ")";
  if (op == "leu") return "(" + a + " <= " + b + " || " + unordered + ")";
  if (op == "gtu") return "(" + a + " > " + b + " || " + unordered + ")";
  if (op == "geu") return "(" + a + " >= " + b + " || " + unordered + ")";
  return {};
}

std::string integer_comparison(std::string_view op, Type type, const std::string& a, const std::string& b) {
  const auto with = [&](const char* sign) { return "(" + a + sign + b + ")"; };
  if (op == "eq") return with(" == ");
  if (op == "ne") return with(" != ");
  if (type.kind == Kind::bits) return {};
  const bool is_unsigned = !type.is_signed();
  if (op == "lt" || (op == "lo" && is_unsigned)) return with(" < ");
  if (op == "le" || (op == "ls" && is_unsigned)) return with(" <= ");
  if (op == "gt" || (op == "hi" && is_unsigned)) return with(" > ");
  if (op == "ge" || (op == "hs" && is_unsigned)) return with(" >= ");
  return {};
}

}  // namespace

std::string FunctionTranslator::compare(std::string_view op, Type type, const Operand& a, const Operand& b, bool ftz) {
  std::string text;
  if (type == kF32 || type == kF64) {
    const std::string name = c_type(type);
    const std::string left = declare_temporary(name.c_str(), flush(value(a, type), ftz));
    const std::string right = declare_temporary(name.c_str(), flush(value(b, type), ftz));
    text = float_comparison(op, left, right);
  } else if (is_half(type) && type.lanes == 1) {
    const std::string format = type.kind == Kind::bfloat ? ", 1)" : ", 0)";
    const auto widen = [&](const Operand& given) {
      return declare_temporary("float", flush("c->rt->half_to_float((u32)" + value(given, kB16) + format, ftz));
    };
    const std::string left = widen(a);
    const std::string right = widen(b);
    text = float_comparison(op, left, right);
  } else if (type.is_integer() && type.lanes == 1 && type.width >= 16) {
    text = integer_comparison(op, type, value(a, type), value(b, type));
  }
  if (text.empty()) fail("comparison is not supported");
  return text;
}

std::string FunctionTranslator::combine(std::string_view op, const std::string& result, const std::string& with) {
  if (op == "and") return "(" + result + " && " + with + ")";
  if (op == "or") return "(" + result + " || " + with + ")";
  return "(" + result + " != " + with + ")";
}

void FunctionTranslator::half2_setp(std::string_view op, Type type, std::string_view boolean) {
  const std::string format = type.kind == Kind::bfloat ? ", 1)" : ", 0)";
  if (operand(0).kind != Operand::Kind::pair || !boolean.empty())
    return fail("packed comparisons need two results and no third operand");
  const std::string a = declare_temporary("u32", value(operand(1), kB32));
  const std::string b = declare_temporary("u32", value(operand(2), kB32));
  std::string results[2];
  for (int high = 0; high < 2; ++high) {
    const std::string shift = high != 0 ? " >> 16" : " & 0xffffu";
    const std::string left = declare_temporary("float", "c->rt->half_to_float(" + a + shift + format);
    const std::string right = declare_temporary("float", "c->rt->half_to_float(" + b + shift + format);
    results[high] = declare_temporary("u32", float_comparison(op, left, right));
  }
  assign_predicate(operand(0).elements[0], results[0]);
  assign_predicate(operand(0).elements[1], results[1]);
}

void FunctionTranslator::translate_setp() {
  const std::string_view op = modifiers_->take_any(kComparisons);
  const std::string_view boolean = modifiers_->take_any({"and", "or", "xor"});
  const bool ftz = modifiers_->take("ftz");
  const Type type = take_type();
  if (!expect_operands(boolean.empty() ? 3 : 4, boolean.empty() ? 3 : 4)) return;
  if (op.empty()) return fail("comparison is missing");
  if (is_half(type) && type.lanes == 2) return half2_setp(op, type, boolean);
  const std::string result = declare_temporary("u32", compare(op, type, operand(1), operand(2), ftz));
  const bool pair = operand(0).kind == Operand::Kind::pair;
  const Operand& first = pair ? operand(0).elements[0] : operand(0);
  std::string positive = result;
  std::string negative = "!" + result;
  if (!boolean.empty()) {
    const std::string with = declare_temporary("u32", predicate(operand(3)));
    positive = combine(boolean, result, with);
    negative = combine(boolean, "(u32)!" + result, with);
  }
  assign_predicate(first, positive);
  if (pair) assign_predicate(operand(0).elements[1], negative);
}

void FunctionTranslator::translate_set() {
  const std::string_view op = modifiers_->take_any(kComparisons);
  const std::string_view boolean = modifiers_->take_any({"and", "or", "xor"});
  const bool ftz = modifiers_->take("ftz");
  const Type to = take_type();
  const Type type = take_type("the second type");
  if (!expect_operands(boolean.empty() ? 3 : 4, boolean.empty() ? 3 : 4)) return;
  if (op.empty()) return fail("comparison is missing");
  if (is_half(type) && type.lanes == 2) {
    const std::string format = type.kind == Kind::bfloat ? ", 1)" : ", 0)";
    if (!boolean.empty() || to.bits() != 32) return fail("type is not supported");
    const bool ones = to.is_integer();
    const std::string truth = ones ? "0xffffu" : type.kind == Kind::bfloat ? "0x3f80u" : "0x3c00u";
    const std::string a = declare_temporary("u32", value(operand(1), kB32));
    const std::string b = declare_temporary("u32", value(operand(2), kB32));
    std::string results[2];
    for (int high = 0; high < 2; ++high) {
      const std::string shift = high != 0 ? " >> 16" : " & 0xffffu";
      const std::string left = declare_temporary("float", "c->rt->half_to_float(" + a + shift + format);
      const std::string right = declare_temporary("float", "c->rt->half_to_float(" + b + shift + format);
      results[high] = "(" + float_comparison(op, left, right) + " ? " + truth + " : 0u)";
    }
    return assign(operand(0), kB32, results[0] + " | " + results[1] + " << 16");
  }
  std::string result = declare_temporary("u32", compare(op, type, operand(1), operand(2), ftz));
  if (!boolean.empty()) result = combine(boolean, result, declare_temporary("u32", predicate(operand(3))));
  if (to == kF32) return assign(operand(0), to, result + " ? 1.0f : 0.0f");
  if (to == kF16) return assign(operand(0), kB16, result + " ? 0x3c00u : 0u");
  if (to == Type{Kind::bfloat, 16, 1}) return assign(operand(0), kB16, result + " ? 0x3f80u : 0u");
  if (to == kU32 || to == kS32) return assign(operand(0), kU32, result + " ? 0xffffffffu : 0u");
  if (to.is_integer() && to.width == 16) return assign(operand(0), kB16, result + " ? 0xffffu : 0u");
  fail("type is not supported");
}

void FunctionTranslator::translate_selp() {
  const Type type = take_type();
  if (!expect_operands(4, 4)) return;
  if (type.kind == Kind::predicate || type.width < 16 || type.lanes != 1) return fail("type is not supported");
  const bool is_float = type == kF32 || type == kF64;
  // A float that only floats see keeps its raw bits; whoever looks at the bits gets the canonical NaN.
  const bool raw = is_float && operand(0).is_register() && homes_[operand(0).reg].pure;
  const Type read = raw ? type : Type{Kind::bits, type.width, 1};
  assign(operand(0), read, predicate(operand(3)) + " ? " + value(operand(1), read) + " : " + value(operand(2), read));
}

void FunctionTranslator::translate_slct() {
  const bool ftz = modifiers_->take("ftz");
  const Type type = take_type();
  const Type by = take_type("the second type");
  if (!expect_operands(4, 4)) return;
  if (by != kS32 && by != kF32) return fail("type is not supported");
  const Type raw{Kind::bits, type.width, 1};
  const std::string key = by == kF32 ? flush(value(operand(3), kF32), ftz) + " >= 0.0f" : value(operand(3), kS32) + " >= 0";
  assign(operand(0), raw, "(" + key + ") ? " + value(operand(1), raw) + " : " + value(operand(2), raw));
}

}  // namespace cupool::simgpu::ptx
