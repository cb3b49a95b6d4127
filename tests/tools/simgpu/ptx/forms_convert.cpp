// SPDX-License-Identifier: Apache-2.0
// mov and cvt.
#include <cfenv>
#include <cmath>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

const char* const kIntegers[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};

__int128 integer(const std::string& type, std::uint64_t bits) {
  const std::uint32_t width = bits_of(type);
  return type[0] == 's' ? __int128{sign_extend(low(bits, width), width)} : __int128{low(bits, width)};
}

std::uint64_t clamped(const std::string& type, __int128 value) {
  const std::uint32_t width = bits_of(type);
  const __int128 most = type[0] == 's' ? (__int128{1} << (width - 1)) - 1 : (__int128{1} << width) - 1;
  const __int128 least = type[0] == 's' ? -(__int128{1} << (width - 1)) : 0;
  const __int128 kept = value > most ? most : value < least ? least : value;
  return low(static_cast<std::uint64_t>(kept), width);
}

void add_integers(Forms& forms) {
  for (const std::string to : kIntegers) {
    for (const std::string from : kIntegers) {
      forms.push_back({"cvt." + to + "." + from + " %0, %1;", to, {from}, [=](const std::uint64_t* in) {
                         return low(static_cast<std::uint64_t>(integer(from, in[0])), bits_of(to));
                       }});
      forms.push_back({"cvt.sat." + to + "." + from + " %0, %1;", to, {from}, [=](const std::uint64_t* in) {
                         return clamped(to, integer(from, in[0]));
                       }});
    }
  }
}

int host_mode(char mode) {
  return mode == 'z' ? FE_TOWARDZERO : mode == 'm' ? FE_DOWNWARD : mode == 'p' ? FE_UPWARD : FE_TONEAREST;
}

/// A value that is exact in long double, rounded to T by the host.
template <class T>
T rounded(long double exact, char mode) {
  const int before = std::fegetround();
  std::fesetround(host_mode(mode));
  volatile long double x = exact;
  volatile T r = static_cast<T>(x);
  std::fesetround(before);
  return r;
}

long double whole(long double x, char mode) {
  const int before = std::fegetround();
  std::fesetround(host_mode(mode));
  volatile long double y = x;
  volatile long double r = std::nearbyint(y);
  std::fesetround(before);
  return r;
}

void add_to_float(Forms& forms) {
  for (const std::string from : kIntegers) {
    for (const char mode : {'n', 'z', 'm', 'p'}) {
      const std::string head = std::string("cvt.r") + mode;
      forms.push_back({head + ".f32." + from + " %0, %1;", "f32", {from}, [=](const std::uint64_t* in) {
                         return bits(rounded<float>(static_cast<long double>(integer(from, in[0])), mode));
                       }});
      forms.push_back({head + ".f64." + from + " %0, %1;", "f64", {from}, [=](const std::uint64_t* in) {
                         return bits(rounded<double>(static_cast<long double>(integer(from, in[0])), mode));
                       }});
    }
    forms.push_back({"cvt.rn.f16." + from + " %0, %1;", "f16", {from}, [=](const std::uint64_t* in) {
                       const auto value = static_cast<__float128>(integer(from, in[0]));
                       return nearest_half(value, false);
                     }});
  }
}

long double number(const std::string& type, std::uint64_t given) {
  if (type == "f32") return f32(given);
  if (type == "f64") return f64(given);
  return half_value(given, type == "bf16");
}

void add_to_integer(Forms& forms) {
  for (const std::string to : kIntegers) {
    for (const std::string from : {"f16", "f32", "f64"}) {
      for (const char mode : {'n', 'z', 'm', 'p'}) {
        forms.push_back(
            {std::string("cvt.r") + mode + "i." + to + "." + from + " %0, %1;", to, {from}, [=](const std::uint64_t* in) {
               const long double value = number(from, in[0]);
               if (value != value) {
                 const bool zero = from != "f64" && bits_of(to) != 64;
                 return zero ? std::uint64_t{0} : std::uint64_t{1} << (bits_of(to) - 1);
               }
               const long double limit = 0x1p80L;
               const long double kept = value > limit ? limit : value < -limit ? -limit : value;
               return clamped(to, static_cast<__int128>(whole(kept, mode)));
             }});
      }
    }
  }
}

void add_between_floats(Forms& forms) {
  for (const char mode : {'n', 'z', 'm', 'p'}) {
    const std::string m(1, mode);
    forms.push_back({"cvt.r" + m + ".f32.f64 %0, %1;", "f32", {"f64"}, [=](const std::uint64_t* in) {
                       return bits(rounded<float>(f64(in[0]), mode));
                     }});
    for (const std::string type : {"f32", "f64", "f16"}) {
      forms.push_back({"cvt.r" + m + "i." + type + "." + type + " %0, %1;", type, {type}, [=](const std::uint64_t* in) {
                         const long double value = number(type, in[0]);
                         if (value != value) return in[0];
                         const long double r = std::copysign(std::isinf(value) ? value : whole(value, mode), value);
                         if (type == "f32") return bits(static_cast<float>(r));
                         if (type == "f64") return bits(static_cast<double>(r));
                         return nearest_half(r, false) | (std::signbit(r) ? 0x8000U : 0);
                       }});
    }
  }
  forms.push_back(
      {"cvt.f64.f32 %0, %1;", "f64", {"f32"}, [](const std::uint64_t* in) { return bits(static_cast<double>(f32(in[0]))); }});
  forms.push_back({"cvt.ftz.f64.f32 %0, %1;", "f64", {"f32"}, [](const std::uint64_t* in) {
                     const float x = f32((in[0] & 0x7f800000) == 0 ? in[0] & 0x80000000 : in[0]);
                     return bits(static_cast<double>(x));
                   }});
  forms.push_back({"cvt.sat.f32.f32 %0, %1;", "f32", {"f32"}, [](const std::uint64_t* in) {
                     const float x = f32(in[0]);
                     return bits(!(x > 0) ? 0.0F : x < 1 ? x : 1.0F);
                   }});
  forms.push_back({"cvt.rn.sat.f32.f64 %0, %1;", "f32", {"f64"}, [](const std::uint64_t* in) {
                     const auto x = static_cast<float>(f64(in[0]));
                     return bits(!(x > 0) ? 0.0F : x < 1 ? x : 1.0F);
                   }});
  for (const bool bfloat : {false, true}) {
    const std::string half = bfloat ? "bf16" : "f16";
    forms.push_back({"cvt.f32." + half + " %0, %1;", "f32", {half}, [=](const std::uint64_t* in) {
                       return bits(static_cast<float>(half_value(in[0], bfloat)));
                     }});
    const auto nearest = [=](long double x) { return nearest_half(x, bfloat) | (std::signbit(x) && x == x ? 0x8000U : 0); };
    forms.push_back(
        {"cvt.rn." + half + ".f32 %0, %1;", half, {"f32"}, [=](const std::uint64_t* in) { return nearest(f32(in[0])); }});
    forms.push_back(
        {"cvt.rn." + half + ".f64 %0, %1;", half, {"f64"}, [=](const std::uint64_t* in) { return nearest(f64(in[0])); }});
    forms.push_back({"cvt.rn.relu." + half + ".f32 %0, %1;", half, {"f32"}, [=](const std::uint64_t* in) {
                       return f32(in[0]) != f32(in[0]) ? 0x7fff : std::signbit(f32(in[0])) ? 0 : nearest(f32(in[0]));
                     }});
    // Towards zero: the nearest, or the one before it.
    forms.push_back({"cvt.rz." + half + ".f32 %0, %1;", half, {"f32"}, [=](const std::uint64_t* in) {
                       const float x = f32(in[0]);
                       if (x != x || std::isinf(x)) return nearest(x);
                       const std::uint64_t near = nearest(x);
                       const double magnitude = std::fabs(half_value(near & 0x7fff, bfloat));
                       return magnitude > static_cast<double>(std::fabs(x)) ? near - 1 : near;
                     }});
    for (const bool relu : {false, true}) {
      forms.push_back({"cvt.rn" + std::string(relu ? ".relu." : ".") + half + "x2.f32 %0, %1, %2;",
                       "b32",
                       {"f32", "f32"},
                       [=](const std::uint64_t* in) {
                         const auto one = [=](std::uint64_t x) {
                           const float value = f32(x);
                           return value != value ? 0x7fff : relu && std::signbit(value) ? 0 : nearest(value);
                         };
                         return one(in[0]) << 16 | one(in[1]);
                       }});
    }
  }
  forms.push_back({"cvt.f64.f16 %0, %1;", "f64", {"f16"}, [](const std::uint64_t* in) { return bits(half_value(in[0], false)); }});
  forms.push_back({"cvt.rna.tf32.f32 %0, %1;", "b32", {"f32"}, [](const std::uint64_t* in) -> std::uint64_t {
                     if (f32(in[0]) != f32(in[0])) return 0x7fffffff;
                     const std::uint64_t magnitude = in[0] & 0x7fffffff;
                     if (magnitude == 0x7f800000) return in[0];
                     return (in[0] & 0x80000000) | ((magnitude + 0x1000) & ~0x1fffULL);
                   }});
}

void add_moves(Forms& forms) {
  for (const std::string type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "pred"}) {
    forms.push_back({"mov." + type + " %0, %1;", type, {type}, [](const std::uint64_t* in) { return in[0]; }});
  }
  forms.push_back({"mov.b32 %0, {%1, %2};", "b32", {"b16", "b16"}, [](const std::uint64_t* in) { return in[0] | in[1] << 16; }});
  forms.push_back({"mov.b64 %0, {%1, %2};", "b64", {"b32", "b32"}, [](const std::uint64_t* in) { return in[0] | in[1] << 32; }});
  forms.push_back({"mov.b64 %0, {%1, %2};", "b64", {"f32", "b32"}, [](const std::uint64_t* in) { return in[0] | in[1] << 32; }});
  forms.push_back({"mov.b64 {%x0, %0}, %1;", "b32", {"b64"}, [](const std::uint64_t* in) { return in[0] >> 32; }});
  forms.push_back({"mov.b64 {%0, %x0}, %1;", "f32", {"b64"}, [](const std::uint64_t* in) { return low(in[0], 32); }});
  forms.push_back({"mov.b32 {_, %0}, %1;", "b16", {"b32"}, [](const std::uint64_t* in) { return in[0] >> 16; }});
  forms.push_back({"mov.b32 %0, %1;", "b32", {"f32"}, [](const std::uint64_t* in) { return in[0]; }});
  forms.push_back({"mov.f32 %0, 0f7fc12345;", "f32", {}, [](const std::uint64_t*) -> std::uint64_t { return 0x7fc12345; }});
  forms.push_back({"mov.f64 %0, 0d0000000000000001;", "f64", {}, [](const std::uint64_t*) -> std::uint64_t { return 1; }});
  forms.push_back({"mov.u32 %0, (1 << 4) + 0x0F * 2 - 3;", "u32", {}, [](const std::uint64_t*) -> std::uint64_t { return 43; }});
  forms.push_back({"add.f32 %0, %1, 0f3E4CCCCD;", "f32", {"f32"}, [](const std::uint64_t* in) { return bits(f32(in[0]) + 0.2F); }});
  for (const std::string to : {"u16", "s16"}) {
    forms.push_back({"cvt.pack.sat." + to + ".s32 %0, %1, %2;", "b32", {"s32", "s32"}, [=](const std::uint64_t* in) {
                       return clamped(to, sign_extend(in[0], 32)) << 16 | clamped(to, sign_extend(in[1], 32));
                     }});
  }
  for (const std::string to : {"u8", "s8"}) {
    forms.push_back({"cvt.pack.sat." + to + ".s32.b32 %0, %1, %2, %3;", "b32", {"s32", "s32", "b32"}, [=](const std::uint64_t* in) {
                       return low(in[2] << 16, 32) | clamped(to, sign_extend(in[0], 32)) << 8 | clamped(to, sign_extend(in[1], 32));
                     }});
  }
}

}  // namespace

void add_convert_forms(Forms& forms) {
  add_moves(forms);
  add_integers(forms);
  add_to_float(forms);
  add_to_integer(forms);
  add_between_floats(forms);
}

}  // namespace ptx_test
