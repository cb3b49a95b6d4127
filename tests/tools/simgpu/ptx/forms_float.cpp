// SPDX-License-Identifier: Apache-2.0
// Arithmetic in f32 and f64.
#include <cfenv>
#include <cmath>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

template <class T>
T unit(T x) {
  if (!(x > 0)) return 0;
  return x < 1 ? x : T{1};
}

int host_mode(const std::string& mode) {
  return mode == "rz" ? FE_TOWARDZERO : mode == "rm" ? FE_DOWNWARD : mode == "rp" ? FE_UPWARD : FE_TONEAREST;
}

/// The host's operation in one of its rounding modes.
template <class T>
T rounded(const std::string& op, const std::string& mode, T a, T b, T c) {
  volatile T x = a;
  volatile T y = b;
  volatile T z = c;
  const int before = std::fegetround();
  std::fesetround(host_mode(mode));
  volatile T r = 0;
  if (op == "add")
    r = x + y;
  else if (op == "sub")
    r = x - y;
  else if (op == "mul")
    r = x * y;
  else if (op == "div")
    r = x / y;
  else if (op == "rcp")
    r = 1 / x;
  else if (op == "sqrt")
    r = std::sqrt(x);
  else
    r = std::fma(x, y, z);
  std::fesetround(before);
  return r;
}

std::size_t sources_of(const std::string& op) {
  return op == "fma" || op == "mad" ? 3 : op == "rcp" || op == "sqrt" ? 1 : 2;
}

std::string operands(std::size_t count) {
  return count == 1 ? " %0, %1;" : count == 2 ? " %0, %1, %2;" : " %0, %1, %2, %3;";
}

void add_f32(Forms& forms, const std::string& op, const std::string& mode, bool ftz, bool sat) {
  const std::string text = op + (mode.empty() ? "" : "." + mode) + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + ".f32";
  const std::size_t count = sources_of(op);
  forms.push_back({text + operands(count), "f32", std::vector<std::string>(count, "f32"), [=](const std::uint64_t* in) {
                     float v[3];
                     for (int i = 0; i < 3; ++i) v[i] = ftz ? flushed(f32(in[i])) : f32(in[i]);
                     float r = rounded<float>(op, mode, v[0], v[1], v[2]);
                     if (sat) r = unit(r);
                     return bits(ftz ? flushed(r) : r);
                   }});
}

void add_f64(Forms& forms, const std::string& op, const std::string& mode) {
  const std::size_t count = sources_of(op);
  forms.push_back({op + (mode.empty() ? "" : "." + mode) + ".f64" + operands(count), "f64", std::vector<std::string>(count, "f64"),
                   [=](const std::uint64_t* in) { return bits(rounded<double>(op, mode, f64(in[0]), f64(in[1]), f64(in[2]))); }});
}

void add_rounded(Forms& forms) {
  for (const std::string op : {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"}) {
    for (const std::string mode : {"rn", "rz", "rm", "rp"}) {
      add_f32(forms, op, mode, false, false);
      add_f32(forms, op, mode, true, false);
      add_f64(forms, op, mode);
    }
  }
  for (const std::string op : {"add", "sub", "mul"}) {
    add_f32(forms, op, "", false, false);
    add_f64(forms, op, "");
    add_f32(forms, op, "", false, true);
    add_f32(forms, op, "", true, true);
  }
  add_f32(forms, "fma", "rn", false, true);
  add_f32(forms, "mad", "rn", false, false);
  add_f32(forms, "fma", "rz", true, true);
}

template <class T>
T picked(T a, T b, bool is_max, bool nan_wins) {
  if (a != a || b != b) {
    if (nan_wins || (a != a && b != b)) return std::nan("");
    return a != a ? b : a;
  }
  if (a == b) return std::signbit(a) != is_max ? a : b;
  return (a > b) == is_max ? a : b;
}

void add_min_max(Forms& forms) {
  for (const bool is_max : {false, true}) {
    const std::string op = is_max ? "max" : "min";
    for (const bool ftz : {false, true}) {
      for (const bool nan : {false, true}) {
        for (const bool sign : {false, true}) {
          const std::string text =
              op + (ftz ? ".ftz" : "") + (nan ? ".NaN" : "") + (sign ? ".xorsign.abs" : "") + ".f32 %0, %1, %2;";
          forms.push_back({text, "f32", {"f32", "f32"}, [=](const std::uint64_t* in) {
                             float a = ftz ? flushed(f32(in[0])) : f32(in[0]);
                             float b = ftz ? flushed(f32(in[1])) : f32(in[1]);
                             const bool negative = std::signbit(a) != std::signbit(b);
                             if (sign) a = std::fabs(a), b = std::fabs(b);
                             const float r = picked(a, b, is_max, nan);
                             return bits(sign && negative ? -r : r);
                           }});
        }
      }
    }
    forms.push_back({op + ".f32 %0, %1, %2, %3;", "f32", {"f32", "f32", "f32"}, [=](const std::uint64_t* in) {
                       return bits(picked(picked(f32(in[0]), f32(in[1]), is_max, false), f32(in[2]), is_max, false));
                     }});
    forms.push_back({op + ".f64 %0, %1, %2;", "f64", {"f64", "f64"}, [=](const std::uint64_t* in) {
                       return bits(picked(f64(in[0]), f64(in[1]), is_max, false));
                     }});
  }
}

void add_signs(Forms& forms) {
  for (const bool ftz : {false, true}) {
    const std::string t = ftz ? ".ftz.f32 %0, %1;" : ".f32 %0, %1;";
    forms.push_back(
        {"neg" + t, "f32", {"f32"}, [=](const std::uint64_t* in) { return bits(ftz ? -flushed(f32(in[0])) : -f32(in[0])); }});
    forms.push_back({"abs" + t, "f32", {"f32"}, [=](const std::uint64_t* in) {
                       return bits(std::fabs(ftz ? flushed(f32(in[0])) : f32(in[0])));
                     }});
  }
  forms.push_back({"neg.f64 %0, %1;", "f64", {"f64"}, [](const std::uint64_t* in) { return bits(-f64(in[0])); }});
  forms.push_back({"abs.f64 %0, %1;", "f64", {"f64"}, [](const std::uint64_t* in) { return bits(std::fabs(f64(in[0]))); }});
  forms.push_back({"copysign.f32 %0, %1, %2;", "f32", {"f32", "f32"}, [](const std::uint64_t* in) {
                     return (in[0] & 0x80000000) | (in[1] & 0x7fffffff);
                   }});
  forms.push_back({"copysign.f64 %0, %1, %2;", "f64", {"f64", "f64"}, [](const std::uint64_t* in) {
                     return (in[0] & 1ULL << 63) | (in[1] & ~(1ULL << 63));
                   }});
}

void add_approximate(Forms& forms) {
  using Function = double (*)(double);
  const std::pair<std::string, Function> all[] = {
      {"ex2", [](double x) { return std::exp2(x); }},  {"lg2", [](double x) { return std::log2(x); }},
      {"sin", [](double x) { return std::sin(x); }},   {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }}, {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"rcp", [](double x) { return 1 / x; }},         {"sqrt", [](double x) { return std::sqrt(x); }}};
  for (const auto& [name, function] : all) {
    for (const bool ftz : {false, true}) {
      if (ftz && name == "tanh") continue;
      const Function call = function;
      forms.push_back({name + ".approx" + (ftz ? ".ftz" : "") + ".f32 %0, %1;",
                       "f32",
                       {"f32"},
                       [=](const std::uint64_t* in) {
                         const float x = ftz ? flushed(f32(in[0])) : f32(in[0]);
                         const auto r = static_cast<float>(call(static_cast<double>(x)));
                         return bits(ftz ? flushed(r) : r);
                       },
                       1});
    }
  }
  for (const std::string op : {"div.full", "div.approx", "div.full.ftz", "div.approx.ftz"}) {
    const bool ftz = op.ends_with("ftz");
    forms.push_back({op + ".f32 %0, %1, %2;",
                     "f32",
                     {"f32", "f32"},
                     [=](const std::uint64_t* in) {
                       const float r = (ftz ? flushed(f32(in[0])) : f32(in[0])) / (ftz ? flushed(f32(in[1])) : f32(in[1]));
                       return bits(ftz ? flushed(r) : r);
                     },
                     1});
  }
  forms.push_back({"rcp.approx.ftz.f64 %0, %1;", "f64", {"f64"}, [](const std::uint64_t* in) { return bits(1 / f64(in[0])); }});
  forms.push_back(
      {"rsqrt.approx.f64 %0, %1;", "f64", {"f64"}, [](const std::uint64_t* in) { return bits(1 / std::sqrt(f64(in[0]))); }});
}

void add_packed(Forms& forms) {
  for (const std::string op : {"add", "mul", "fma"}) {
    const std::size_t count = sources_of(op);
    forms.push_back(
        {op + ".rn.f32x2" + operands(count), "b64", std::vector<std::string>(count, "f32x2"), [=](const std::uint64_t* in) {
           std::uint64_t out = 0;
           for (int half = 0; half < 2; ++half) {
             const int shift = 32 * half;
             const float r = rounded<float>(op, "rn", f32(in[0] >> shift), f32(in[1] >> shift), f32(in[2] >> shift));
             out |= (r != r ? 0x7fffffffULL : bits(r)) << shift;
           }
           return out;
         }});
  }
}

void add_tests(Forms& forms) {
  using Test = bool (*)(double);
  const std::pair<std::string, Test> all[] = {{"finite", [](double x) { return std::isfinite(x); }},
                                              {"infinite", [](double x) { return std::isinf(x); }},
                                              {"number", [](double x) { return !std::isnan(x); }},
                                              {"notanumber", [](double x) { return std::isnan(x); }}};
  for (const auto& [name, test] : all) {
    const Test call = test;
    forms.push_back({"testp." + name + ".f32 %0, %1;", "pred", {"f32"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{call(static_cast<double>(f32(in[0])))};
                     }});
    forms.push_back({"testp." + name + ".f64 %0, %1;", "pred", {"f64"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{call(f64(in[0]))};
                     }});
  }
  for (const int kind : {FP_NORMAL, FP_SUBNORMAL}) {
    const std::string name = kind == FP_NORMAL ? "normal" : "subnormal";
    forms.push_back({"testp." + name + ".f32 %0, %1;", "pred", {"f32"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{std::fpclassify(f32(in[0])) == kind};
                     }});
    forms.push_back({"testp." + name + ".f64 %0, %1;", "pred", {"f64"}, [=](const std::uint64_t* in) {
                       return std::uint64_t{std::fpclassify(f64(in[0])) == kind};
                     }});
  }
}

}  // namespace

void add_float_forms(Forms& forms) {
  add_rounded(forms);
  add_min_max(forms);
  add_signs(forms);
  add_approximate(forms);
  add_packed(forms);
  add_tests(forms);
}

}  // namespace ptx_test
