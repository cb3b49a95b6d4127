// SPDX-License-Identifier: Apache-2.0
// Moves and conversions.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

bool is_host(Type type) {
  return type == kF32 || type == kF64;
}
bool is_plain_integer(Type type) {
  return type.is_integer() && type.kind != Kind::bits && type.lanes == 1 && type.width >= 8;
}

/// The format number of abi.h; empty for what cannot be converted.
std::string format(Type type) {
  switch (type.kind) {
    case Kind::unsigned_integer:
      return "SG_T_U" + std::to_string(type.width);
    case Kind::signed_integer:
      return "SG_T_S" + std::to_string(type.width);
    case Kind::ieee:
      return "SG_T_F" + std::to_string(type.width);
    case Kind::bfloat:
      return "SG_T_BF16";
    case Kind::tf32:
      return "SG_T_TF32";
    case Kind::e4m3:
      return "SG_T_E4M3";
    case Kind::e5m2:
      return "SG_T_E5M2";
    default:
      return "";
  }
}

std::string rounding_number(std::string_view mode) {
  if (mode.empty()) return "SG_RX";
  if (mode == "rna") return "SG_RNA";
  switch (mode[1]) {
    case 'n':
      return "SG_RN";
    case 'z':
      return "SG_RZ";
    case 'm':
      return "SG_RM";
    default:
      return "SG_RP";
  }
}

}  // namespace

void FunctionTranslator::pack(const Operand& target, const Operand& source, Type type) {
  const std::size_t count = source.elements.size();
  if (count != 2 && count != 4) return fail("a vector of 2 or 4 is needed");
  const std::uint32_t width = type.bits() / static_cast<std::uint32_t>(count);
  if (width < 8) return fail("type is not supported");
  const std::string whole = type.bits() == 64 ? "(u64)" : "(u32)";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& element = source.elements[i];
    if (element.kind == Operand::Kind::discard) continue;
    const std::string part = whole + bits_of(element, width) + " << " + std::to_string(i * width);
    text += (text.empty() ? "" : " | ") + part;
  }
  assign(target, Type{Kind::bits, static_cast<std::uint8_t>(type.bits()), 1}, text.empty() ? "0" : text);
}

void FunctionTranslator::unpack(const Operand& target, const Operand& source, Type type) {
  const std::size_t count = target.elements.size();
  if (count != 2 && count != 4) return fail("a vector of 2 or 4 is needed");
  const std::uint32_t width = type.bits() / static_cast<std::uint32_t>(count);
  if (width < 8) return fail("type is not supported");
  const std::string whole = declare_temporary(type.bits() == 64 ? "u64" : "u32", bits_of(source, type.bits()));
  for (std::size_t i = 0; i < count; ++i) {
    if (target.elements[i].kind == Operand::Kind::discard) continue;
    const Type part{Kind::bits, static_cast<std::uint8_t>(width), 1};
    assign(target.elements[i], part, "(" + c_type(part) + ")(" + whole + " >> " + std::to_string(i * width) + ")");
  }
}

void FunctionTranslator::translate_mov() {
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (type.bits() > 64) return fail("128-bit registers are not supported");
  if (operand(0).kind == Operand::Kind::vector) return unpack(operand(0), operand(1), type);
  if (operand(1).kind == Operand::Kind::vector) return pack(operand(0), operand(1), type);
  if (type.kind == Kind::predicate) return assign_predicate(operand(0), predicate(operand(1)));
  if (type.width < 16 || type.lanes != 1) return fail("type is not supported");
  const bool raw = is_host(type) && operand(0).is_register() && homes_[operand(0).reg].pure;
  const Type read = raw ? type : Type{Kind::bits, type.width, 1};
  assign(operand(0), read, value(operand(1), read));
}

/// Two values into one register: the first becomes the upper half.
void FunctionTranslator::convert_pair(Type to, Type from, const std::string& mode, const std::string& flags) {
  const Type lane{to.kind, to.width, 1};
  const Type source{from.kind, from.width, 1};
  if (format(lane).empty() || format(source).empty()) return fail("types are not supported");
  std::string high;
  std::string low;
  if (from.lanes == 1) {
    if (!expect_operands(3, 3)) return;
    if (!is_host(from)) return fail("types are not supported");
    high = "(u64)" + bits_of(operand(1), from.width);
    low = "(u64)" + bits_of(operand(2), from.width);
  } else {
    if (!expect_operands(2, 2)) return;
    const std::string both = declare_temporary("u32", "(u32)" + bits_of(operand(1), from.bits()));
    const std::string mask = from.width == 8 ? "0xffu" : "0xffffu";
    low = "(u64)(" + both + " & " + mask + ")";
    high = "(u64)(" + both + " >> " + std::to_string(from.width) + " & " + mask + ")";
  }
  const auto one = [&](const std::string& bits) {
    return "(u32)c->rt->convert(" + bits + ", " + format(source) + ", " + format(lane) + ", " + mode + ", " + flags + ")";
  };
  assign(operand(0), Type{Kind::bits, static_cast<std::uint8_t>(to.bits()), 1},
         one(low) + " | " + one(high) + " << " + std::to_string(to.width));
}

/// The conversions that C has itself; false if the general one is needed.
bool FunctionTranslator::quick_conversion(Type to, Type from, const std::string& mode, bool ftz, bool saturate) {
  if (saturate) return false;
  const bool nearest = mode == "SG_RN";
  if (is_plain_integer(to) && is_plain_integer(from)) {
    if (mode != "SG_RX") return false;
    assign(operand(0), to, "(" + c_type(to) + ")" + value(operand(1), from));
    return true;
  }
  if (is_host(to) && is_plain_integer(from) && nearest) {
    if (from == kU64) return false;
    const std::string exact = from == kS64 || from == kU32 ? "(s64)" : "(s32)";
    assign(operand(0), to, "(" + c_type(to) + ")" + exact + value(operand(1), from));
    return true;
  }
  if (to == kF64 && from == kF32 && mode == "SG_RX") {
    assign(operand(0), to, "(double)" + flush(value(operand(1), from), ftz), true);
    return true;
  }
  if (to == kF32 && from == kF64 && nearest) {
    assign(operand(0), to, flush("(float)" + value(operand(1), from), ftz), true);
    return true;
  }
  if (to == kS32 && from == kF32 && mode == "SG_RZ") {
    assign(operand(0), to, "sg_f32_to_s32(c->rt, " + flush(value(operand(1), from), ftz) + ")");
    return true;
  }
  const auto is_bfloat = [](Type type) { return type.kind == Kind::bfloat ? "1" : "0"; };
  const auto is_half = [](Type type) {
    return type.width == 16 && type.lanes == 1 && (type.kind == Kind::ieee || type.kind == Kind::bfloat);
  };
  if (to == kF32 && is_half(from) && mode == "SG_RX") {
    const std::string result = std::string("c->rt->half_to_float((u32)") + bits_of(operand(1), 16) + ", " + is_bfloat(from) + ")";
    assign(operand(0), to, flush(result, ftz), true);
    return true;
  }
  if (is_half(to) && from == kF32 && nearest) {
    const std::string result = "c->rt->float_to_half(" + flush(value(operand(1), from), ftz) + ", " + is_bfloat(to) + ")";
    assign(operand(0), kB16, result);
    return true;
  }
  return false;
}

void FunctionTranslator::translate_cvt() {
  if (modifiers_->take("pack")) return translate_cvt_pack();
  const std::string_view integral = modifiers_->take_any({"rni", "rzi", "rmi", "rpi"});
  const std::string_view fractional = modifiers_->take_any({"rn", "rz", "rm", "rp", "rna"});
  const bool ftz = modifiers_->take("ftz");
  const bool saturate = modifiers_->take("sat");
  const bool satfinite = modifiers_->take("satfinite");
  const bool relu = modifiers_->take("relu");
  const Type to = take_type();
  const Type from = take_type("the second type");
  if (failed()) return;
  const std::string mode = rounding_number(integral.empty() ? fractional : integral);
  std::string flags = "0";
  if (saturate) flags += "|SG_CVT_SAT";
  if (ftz) flags += "|SG_CVT_FTZ";
  if (satfinite) flags += "|SG_CVT_SATFINITE";
  if (relu) flags += "|SG_CVT_RELU";
  if (to.lanes == 2) return convert_pair(to, from, mode, flags);
  if (!expect_operands(2, 2)) return;
  if (from.lanes != 1 || format(to).empty() || format(from).empty() || to.bits() < 8 || from.bits() < 8)
    return fail("types are not supported");
  const bool to_float = to.is_float();
  const bool from_float = from.is_float();
  if (!integral.empty() && !from_float) return fail("rounding to an integer needs a floating-point source");
  if (from_float && !to_float && integral.empty()) return fail("a rounding to integer is missing");
  if (!from_float && to_float && fractional.empty()) return fail("a rounding is missing");
  if (!satfinite && !relu && (integral.empty() || !to_float) && quick_conversion(to, from, mode, ftz, saturate)) return;
  if (to_float && !integral.empty()) flags += "|SG_CVT_INTEGRAL";
  std::string bits;
  if (from_float)
    bits = "(u64)" + bits_of(operand(1), from.width);
  else
    bits = (from.is_signed() ? "(u64)(s64)" : "(u64)") + value(operand(1), from);
  const std::string result = "c->rt->convert(" + bits + ", " + format(from) + ", " + format(to) + ", " + mode + ", " + flags + ")";
  if (to == kF32) return assign(operand(0), to, "sg_f32((u32)" + result + ")");
  if (to == kF64) return assign(operand(0), to, "sg_f64(" + result + ")");
  assign(operand(0), to_float ? Type{Kind::bits, to.width, 1} : to,
         "(" + c_type(to_float ? Type{Kind::bits, to.width, 1} : to) + ")" + result);
}

/// cvt.pack.sat: two integers, saturated, side by side (and above them a third register's lower half for bytes).
void FunctionTranslator::translate_cvt_pack() {
  const bool saturate = modifiers_->take("sat");
  const Type to = take_type();
  const Type from = take_type("the second type");
  const bool bytes = to.width == 8;
  if (!saturate || !is_plain_integer(to) || to.width > 16 || from != kS32) return fail("types are not supported");
  if (bytes && take_type("the third type") != kB32) return fail("types are not supported");
  if (!expect_operands(bytes ? 4 : 3, bytes ? 4 : 3)) return;
  const std::string mask = bytes ? "0xffu" : "0xffffu";
  const auto one = [&](std::size_t i) {
    return "((u32)c->rt->convert((u64)(s64)" + value(operand(i), kS32) + ", SG_T_S32, " + format(to) + ", SG_RX, SG_CVT_SAT) & " +
           mask + ")";
  };
  std::string text = one(1) + " << " + std::to_string(to.width) + " | " + one(2);
  if (bytes) text += " | " + value(operand(3), kB32) + " << 16";
  assign(operand(0), kB32, text);
}

void FunctionTranslator::translate_cvta() {
  const bool to_space = modifiers_->take("to");
  const Space space = take_space();
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (type != kU64 && !(type == kU32 && space == Space::shared)) return fail("type is not supported");
  const char* window = space == Space::shared ? "SG_WINDOW_SHARED" : space == Space::local ? "SG_WINDOW_LOCAL" : "SG_WINDOW_PARAM";
  if (space == Space::generic) return fail("state space is missing");
  const std::string a = value(operand(1), type);
  if (space == Space::global || space == Space::constant || type == kU32) return assign(operand(0), type, a);
  // A null pointer stays one in no space but global; programs compare only what they converted themselves.
  assign(operand(0), type, to_space ? "(" + a + ") - " + window : "(" + a + ") + " + window);
}

void FunctionTranslator::translate_isspacep() {
  const Space space = take_space();
  if (!expect_operands(2, 2)) return;
  const std::string tag = declare_temporary("u64", value(operand(1), kU64) + " & SG_WINDOW_MASK");
  switch (space) {
    case Space::global:
      return assign_predicate(operand(0), tag + " == 0");
    case Space::constant:
      return assign_predicate(operand(0), "0u");
    case Space::shared:
      return assign_predicate(operand(0), tag + " == SG_WINDOW_SHARED");
    case Space::local:
      return assign_predicate(operand(0), tag + " == SG_WINDOW_LOCAL");
    case Space::param:
      return assign_predicate(operand(0), tag + " == SG_WINDOW_PARAM");
    default:
      return fail("state space is not supported");
  }
}

}  // namespace cupool::simgpu::ptx
