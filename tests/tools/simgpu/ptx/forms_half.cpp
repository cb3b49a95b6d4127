// SPDX-License-Identifier: Apache-2.0
// Half precision: f16 and bf16, alone and in pairs. The reference rounds sums of __float128 by searching all halves.
#include <cmath>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

using Quad = __float128;

bool is_nan(std::uint64_t h, bool bfloat) {
  return (h & 0x7fff) > (bfloat ? 0x7f80U : 0x7c00U);
}

std::uint64_t flushed(std::uint64_t h, bool bfloat) {
  return (h & (bfloat ? 0x7f80U : 0x7c00U)) == 0 ? h & 0x8000 : h;
}

std::uint64_t picked(std::uint64_t a, std::uint64_t b, bool is_max, bool nan_wins, bool bfloat) {
  if (is_nan(a, bfloat) || is_nan(b, bfloat)) {
    if (nan_wins || (is_nan(a, bfloat) && is_nan(b, bfloat))) return 0x7fff;
    return is_nan(a, bfloat) ? b : a;
  }
  const double x = half_value(a, bfloat);
  const double y = half_value(b, bfloat);
  if (x == y) return ((a & 0x8000) != 0) != is_max ? a : b;
  return (x > y) == is_max ? a : b;
}

/// One half from three; sums and products that are zero or not finite follow the host's rules for signs.
std::uint64_t one(const std::string& op, const std::uint64_t* in, bool bfloat) {
  const double a = half_value(in[0], bfloat);
  const double b = half_value(in[1], bfloat);
  const double c = half_value(in[2], bfloat);
  if (op == "neg") return in[0] ^ 0x8000;
  if (op == "abs") return in[0] & 0x7fff;
  if (op == "min" || op == "max") return picked(in[0], in[1], op == "max", false, bfloat);
  if (op == "min.NaN" || op == "max.NaN") return picked(in[0], in[1], op == "max.NaN", true, bfloat);
  const double rough = op == "add" ? a + b : op == "sub" ? a - b : op == "mul" ? a * b : std::fma(a, b, c);
  if (rough != rough) return 0x7fff;
  if (std::isinf(rough) || rough == 0) return nearest_half(rough, bfloat) | (std::signbit(rough) ? 0x8000U : 0);
  const Quad exact = op == "add" ? Quad{a} + b : op == "sub" ? Quad{a} - b : op == "mul" ? Quad{a} * b : Quad{a} * b + c;
  const std::uint64_t near = nearest_half(exact, bfloat);
  return near | (rough < 0 ? 0x8000U : 0);
}

std::size_t sources_of(const std::string& op) {
  return op.starts_with("fma") ? 3 : op == "neg" || op == "abs" ? 1 : 2;
}

void add(Forms& forms, const std::string& op, bool bfloat, const std::string& modifiers) {
  const std::size_t count = sources_of(op);
  const std::string operands = count == 1 ? " %0, %1;" : count == 2 ? " %0, %1, %2;" : " %0, %1, %2, %3;";
  const std::string format = bfloat ? "bf16" : "f16";
  const bool ftz = modifiers.find("ftz") != std::string::npos;
  const bool sat = modifiers.find("sat") != std::string::npos;
  const bool relu = modifiers.find("relu") != std::string::npos;
  const auto lane = [=](const std::uint64_t* in) {
    std::uint64_t given[3];
    for (int i = 0; i < 3; ++i) given[i] = ftz ? flushed(in[i] & 0xffff, bfloat) : in[i] & 0xffff;
    std::uint64_t r = one(op, given, bfloat);
    if (ftz) r = flushed(r, bfloat);
    const double value = half_value(r, bfloat);
    if (sat) r = !(value > 0) ? 0 : value > 1 ? (bfloat ? 0x3f80U : 0x3c00U) : r;
    if (relu && !is_nan(r, bfloat) && (r & 0x8000) != 0) r = 0;
    return r;
  };
  // One lane's result is a number, two lanes' are bits: NaN must be the canonical one there.
  forms.push_back({op + modifiers + "." + format + operands, format, std::vector<std::string>(count, format), lane});
  if (op == "neg" || op == "abs") return;
  forms.push_back({op + modifiers + "." + format + "x2" + operands, "b32", std::vector<std::string>(count, format + "x2"),
                   [=](const std::uint64_t* in) {
                     std::uint64_t high[3];
                     for (int i = 0; i < 3; ++i) high[i] = in[i] >> 16;
                     const auto canonical = [=](std::uint64_t h) { return is_nan(h, bfloat) ? 0x7fff : h; };
                     return canonical(lane(in)) | canonical(lane(high)) << 16;
                   }});
}

}  // namespace

void add_half_forms(Forms& forms) {
  for (const bool bfloat : {false, true}) {
    for (const std::string op : {"add", "sub", "mul", "neg", "abs", "min", "max", "min.NaN", "max.NaN"}) add(forms, op, bfloat, "");
    add(forms, "fma", bfloat, ".rn");
    add(forms, "fma", bfloat, ".rn.relu");
    if (bfloat) continue;
    for (const std::string op : {"add", "sub", "mul"}) {
      add(forms, op, bfloat, ".ftz");
      add(forms, op, bfloat, ".sat");
      add(forms, op, bfloat, ".rn.ftz.sat");
    }
    add(forms, "fma", bfloat, ".rn.ftz");
    add(forms, "fma", bfloat, ".rn.sat");
  }
  using Function = double (*)(double);
  const std::pair<std::string, Function> all[] = {{"ex2.approx", [](double x) { return std::exp2(x); }},
                                                  {"tanh.approx", [](double x) { return std::tanh(x); }}};
  for (const auto& [name, function] : all) {
    const Function call = function;
    for (const bool bfloat : {false, true}) {
      const std::string type = bfloat ? "bf16" : "f16";
      const std::string ftz = bfloat && name == "ex2.approx" ? ".ftz" : "";
      forms.push_back({name + ftz + "." + type + " %0, %1;",
                       type,
                       {type},
                       [=](const std::uint64_t* in) {
                         const std::uint64_t x = ftz.empty() ? in[0] : flushed(in[0], bfloat);
                         const double r = call(half_value(x, bfloat));
                         const std::uint64_t near = nearest_half(r, bfloat) | (std::signbit(r) && r == 0 ? 0x8000U : 0);
                         return ftz.empty() ? near : flushed(near, bfloat);
                       },
                       1});
    }
  }
}

}  // namespace ptx_test
