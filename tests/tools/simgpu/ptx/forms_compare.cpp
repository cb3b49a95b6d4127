// SPDX-License-Identifier: Apache-2.0
// setp, set, selp, slct.
#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

const char* const kFloatComparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                         "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

bool compared(std::string op, double a, double b) {
  const bool unordered = a != a || b != b;
  if (op == "nan") return unordered;
  if (op == "num") return !unordered;
  if (op.size() == 3) {
    if (unordered) return true;
    op.pop_back();
  }
  if (unordered) return false;
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  return a >= b;
}

bool compared(const std::string& op, __int128 a, __int128 b) {
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (op == "lt" || op == "lo") return a < b;
  if (op == "le" || op == "ls") return a <= b;
  if (op == "gt" || op == "hi") return a > b;
  return a >= b;
}

double number(const std::string& type, std::uint64_t bits) {
  if (type == "f32") return static_cast<double>(f32(bits));
  if (type == "f64") return f64(bits);
  return half_value(bits, type == "bf16");
}

void add_integer(Forms& forms) {
  for (const std::string type : {"u16", "s16", "u32", "s32", "u64", "s64", "b16", "b32", "b64"}) {
    const bool is_signed = type[0] == 's';
    const std::uint32_t width = bits_of(type);
    for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}) {
      if (type[0] == 'b' && op != "eq" && op != "ne") continue;
      if (type[0] != 'u' && (op == "lo" || op == "ls" || op == "hi" || op == "hs")) continue;
      forms.push_back({"setp." + op + "." + type + " %0, %1, %2;", "pred", {type, type}, [=](const std::uint64_t* in) {
                         const auto value = [=](std::uint64_t x) {
                           return is_signed ? __int128{sign_extend(x, width)} : __int128{x};
                         };
                         return std::uint64_t{compared(op, value(in[0]), value(in[1]))};
                       }});
    }
  }
}

void add_floats(Forms& forms) {
  for (const std::string type : {"f32", "f64", "f16", "bf16"}) {
    for (const std::string op : kFloatComparisons) {
      forms.push_back({"setp." + op + "." + type + " %0, %1, %2;", "pred", {type, type}, [=](const std::uint64_t* in) {
                         return std::uint64_t{compared(op, number(type, in[0]), number(type, in[1]))};
                       }});
    }
  }
  for (const std::string op : {"lt", "geu"}) {
    forms.push_back({"setp." + op + ".ftz.f32 %0, %1, %2;", "pred", {"f32", "f32"}, [=](const std::uint64_t* in) {
                       const auto flush = [](std::uint64_t x) { return (x & 0x7f800000) == 0 ? 0.0 : static_cast<double>(f32(x)); };
                       return std::uint64_t{compared(op, flush(in[0]), flush(in[1]))};
                     }});
  }
}

void add_combined(Forms& forms) {
  for (const std::string op : {"and", "or", "xor"}) {
    const auto combined = [op](bool a, bool p) { return op == "and" ? a && p : op == "or" ? a || p : a != p; };
    forms.push_back({"setp.lt." + op + ".s32 %0, %1, %2, %3;", "pred", {"s32", "s32", "pred"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{combined(sign_extend(in[0], 32) < sign_extend(in[1], 32), in[2] != 0)};
                     }});
    forms.push_back({"setp.gt." + op + ".f32 %0, %1, %2, !%3;", "pred", {"f32", "f32", "pred"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{combined(f32(in[0]) > f32(in[1]), in[2] == 0)};
                     }});
    // The second result combines the opposite.
    forms.push_back({"setp.eq." + op + ".u32 %q0|%0, %1, %2, %3;", "pred", {"u32", "u32", "pred"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{combined(in[0] != in[1], in[2] != 0)};
                     }});
  }
  for (const std::string op : {"lt", "neu"}) {
    forms.push_back({"setp." + op + ".f16x2 %0|%q0, %1, %2;", "pred", {"f16x2", "f16x2"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{compared(op, half_value(in[0] & 0xffff, false), half_value(in[1] & 0xffff, false))};
                     }});
    forms.push_back({"setp." + op + ".f16x2 %q0|%0, %1, %2;", "pred", {"f16x2", "f16x2"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{compared(op, half_value(in[0] >> 16, false), half_value(in[1] >> 16, false))};
                     }});
  }
}

void add_set(Forms& forms) {
  for (const std::string type : {"u32", "s32", "f32", "f64", "u64", "f16"}) {
    const bool is_signed = type[0] == 's';
    const std::uint32_t width = bits_of(type);
    const auto less = [=](const std::uint64_t* in) {
      if (is_float(type)) return compared(std::string("lt"), number(type, in[0]), number(type, in[1]));
      return is_signed ? sign_extend(in[0], width) < sign_extend(in[1], width) : in[0] < in[1];
    };
    forms.push_back({"set.lt.u32." + type + " %0, %1, %2;", "u32", {type, type}, [=](const std::uint64_t* in) {
                       return std::uint64_t{less(in) ? 0xffffffffU : 0};
                     }});
    forms.push_back({"set.lt.f32." + type + " %0, %1, %2;", "f32", {type, type}, [=](const std::uint64_t* in) {
                       return std::uint64_t{less(in) ? 0x3f800000U : 0};
                     }});
    forms.push_back({"set.lt.and.s32." + type + " %0, %1, %2, %3;", "s32", {type, type, "pred"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{less(in) && in[2] != 0 ? 0xffffffffU : 0};
                     }});
  }
  forms.push_back({"set.gt.f16.f16 %0, %1, %2;", "b16", {"f16", "f16"}, [](const std::uint64_t* in) {
                     return std::uint64_t{half_value(in[0], false) > half_value(in[1], false) ? 0x3c00U : 0};
                   }});
}

void add_selections(Forms& forms) {
  for (const std::string type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    forms.push_back({"selp." + type + " %0, %1, %2, %3;", type, {type, type, "pred"}, [](const std::uint64_t* in) {
                       return in[2] != 0 ? in[0] : in[1];
                     }});
    if (bits_of(type) == 16) continue;
    forms.push_back({"slct." + type + ".s32 %0, %1, %2, %3;", type, {type, type, "s32"}, [](const std::uint64_t* in) {
                       return sign_extend(in[2], 32) >= 0 ? in[0] : in[1];
                     }});
    forms.push_back({"slct." + type + ".f32 %0, %1, %2, %3;", type, {type, type, "f32"}, [](const std::uint64_t* in) {
                       return f32(in[2]) >= 0 ? in[0] : in[1];
                     }});
  }
}

}  // namespace

void add_compare_forms(Forms& forms) {
  add_integer(forms);
  add_floats(forms);
  add_combined(forms);
  add_set(forms);
  add_selections(forms);
}

}  // namespace ptx_test
