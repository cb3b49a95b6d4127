// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic and what belongs to it.
#include <algorithm>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

using Wide = __int128;

struct Integer {
  std::string name;
  std::uint32_t width;
  bool is_signed;
  Wide value(std::uint64_t bits) const { return is_signed ? Wide{sign_extend(bits, width)} : Wide{low(bits, width)}; }
  std::uint64_t back(Wide value) const { return low(static_cast<std::uint64_t>(value), width); }
};

const Integer kIntegers[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                             {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

Wide saturated(Wide value) {
  return std::clamp<Wide>(value, -(Wide{1} << 31), (Wide{1} << 31) - 1);
}

template <class Function>
void add(Forms& forms, const std::string& text, const Integer& type, std::size_t sources, Function function) {
  forms.push_back({text, type.name, std::vector<std::string>(sources, type.name), [type, function](const std::uint64_t* in) {
                     return type.back(function(type.value(in[0]), type.value(in[1]), type.value(in[2])));
                   }});
}

void add_basic(Forms& forms, const Integer& type) {
  const std::string t = "." + type.name + " %0, %1";
  add(forms, "add" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return a + b; });
  add(forms, "sub" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return a - b; });
  add(forms, "mul.lo" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  });
  const std::uint32_t width = type.width;
  const bool is_signed = type.is_signed;
  const auto high = [width, is_signed](Wide a, Wide b) {
    if (is_signed) return static_cast<Wide>(a * b) >> width;
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) >> width);
  };
  add(forms, "mul.hi" + t + ", %2;", type, 2, [high](Wide a, Wide b, Wide) { return high(a, b); });
  add(forms, "mad.lo" + t + ", %2, %3;", type, 3, [](Wide a, Wide b, Wide c) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) +
                             static_cast<unsigned __int128>(c));
  });
  add(forms, "mad.hi" + t + ", %2, %3;", type, 3, [high](Wide a, Wide b, Wide c) { return high(a, b) + c; });
  add(forms, "div" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return b == 0 ? Wide{-1} : a / b; });
  add(forms, "rem" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return b == 0 ? a : a % b; });
  add(forms, "min" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return std::min(a, b); });
  add(forms, "max" + t + ", %2;", type, 2, [](Wide a, Wide b, Wide) { return std::max(a, b); });
  add(forms, "sad" + t + ", %2, %3;", type, 3, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
  if (!is_signed) return;
  add(forms, "abs" + t + ";", type, 1, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; });
  add(forms, "neg" + t + ";", type, 1, [](Wide a, Wide, Wide) { return -a; });
}

void add_wide(Forms& forms, const Integer& type) {
  const std::string wide = std::string(type.is_signed ? "s" : "u") + std::to_string(type.width * 2);
  const std::uint32_t width = type.width * 2;
  forms.push_back({"mul.wide." + type.name + " %0, %1, %2;", wide, {type.name, type.name}, [type, width](const std::uint64_t* in) {
                     return low(static_cast<std::uint64_t>(type.value(in[0]) * type.value(in[1])), width);
                   }});
  forms.push_back(
      {"mad.wide." + type.name + " %0, %1, %2, %3;", wide, {type.name, type.name, wide}, [type, width](const std::uint64_t* in) {
         return low(static_cast<std::uint64_t>(type.value(in[0]) * type.value(in[1])) + in[2], width);
       }});
}

/// The high word of a double-length operation, which the carry has to reach.
void add_carries(Forms& forms, std::uint32_t width) {
  const std::string t = "u" + std::to_string(width);
  const std::string r = width == 32 ? "%x" : "%y";
  using U = unsigned __int128;
  forms.push_back(
      {"add.cc." + t + " " + r + "0, %1, %2; addc." + t + " %0, %3, 0;", t, {t, t, t}, [width](const std::uint64_t* in) {
         return low(in[2] + static_cast<std::uint64_t>((U{in[0]} + in[1]) >> width), width);
       }});
  forms.push_back({"add.cc." + t + " " + r + "0, %1, %2; addc.cc." + t + " " + r + "1, %3, %3; addc." + t + " %0, 0, 0;",
                   t,
                   {t, t, t},
                   [width](const std::uint64_t* in) {
                     const U carry = (U{in[0]} + in[1]) >> width;
                     return static_cast<std::uint64_t>((U{in[2]} + in[2] + carry) >> width);
                   }});
  forms.push_back(
      {"sub.cc." + t + " " + r + "0, %1, %2; subc." + t + " %0, %3, %1;", t, {t, t, t}, [width](const std::uint64_t* in) {
         return low(in[2] - in[0] - (in[0] < in[1] ? 1 : 0), width);
       }});
  forms.push_back({"sub.cc." + t + " " + r + "0, %1, %2; subc.cc." + t + " " + r + "1, %3, %3; subc." + t + " %0, 0, 0;",
                   t,
                   {t, t, t},
                   [width](const std::uint64_t* in) { return low(std::uint64_t{0} - (in[0] < in[1] ? 1 : 0), width); }});
  forms.push_back(
      {"mad.lo.cc." + t + " " + r + "0, %1, %2, %3; madc.hi." + t + " %0, %1, %2, 0;",
       t,
       {t, t, t},
       [width](const std::uint64_t* in) { return low(static_cast<std::uint64_t>((U{in[0]} * in[1] + in[2]) >> width), width); }});
  forms.push_back(
      {"mad.lo.cc." + t + " " + r + "0, %1, %2, %3; madc.lo.cc." + t + " " + r + "1, %1, %1, %2; addc." + t + " %0, 0, 0;",
       t,
       {t, t, t},
       [width](const std::uint64_t* in) {
         const U first = (U{low(in[0] * in[1], width)} + in[2]) >> width;
         return static_cast<std::uint64_t>((U{low(in[0] * in[0], width)} + in[1] + first) >> width);
       }});
}

void add_mul24(Forms& forms) {
  for (const bool is_signed : {false, true}) {
    const std::string t = is_signed ? "s32" : "u32";
    const auto product = [is_signed](std::uint64_t a, std::uint64_t b) {
      const auto cut = [is_signed](std::uint64_t x) {
        return is_signed ? sign_extend(low(x, 24), 24) : static_cast<std::int64_t>(low(x, 24));
      };
      return static_cast<std::uint64_t>(cut(a) * cut(b));
    };
    for (const std::uint32_t shift : {0U, 16U}) {
      const std::string part = shift == 0 ? "lo" : "hi";
      forms.push_back({"mul24." + part + "." + t + " %0, %1, %2;", t, {t, t}, [=](const std::uint64_t* in) {
                         return low(product(in[0], in[1]) >> shift, 32);
                       }});
      forms.push_back({"mad24." + part + "." + t + " %0, %1, %2, %3;", t, {t, t, t}, [=](const std::uint64_t* in) {
                         return low((product(in[0], in[1]) >> shift) + in[2], 32);
                       }});
    }
  }
}

std::int64_t part(std::uint64_t word, std::uint32_t index, std::uint32_t width, bool is_signed) {
  const std::uint64_t bits = low(word >> (index * width), width);
  return is_signed ? sign_extend(bits, width) : static_cast<std::int64_t>(bits);
}

void add_dot_products(Forms& forms) {
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      const std::string result = a_signed || b_signed ? "s32" : "u32";
      forms.push_back({"dp4a" + types + " %0, %1, %2, %3;", result, {"b32", "b32", "b32"}, [=](const std::uint64_t* in) {
                         std::int64_t sum = static_cast<std::int64_t>(in[2]);
                         for (std::uint32_t i = 0; i < 4; ++i) sum += part(in[0], i, 8, a_signed) * part(in[1], i, 8, b_signed);
                         return low(static_cast<std::uint64_t>(sum), 32);
                       }});
      for (const std::uint32_t high : {0U, 1U}) {
        forms.push_back({std::string("dp2a.") + (high != 0 ? "hi" : "lo") + types + " %0, %1, %2, %3;",
                         result,
                         {"b32", "b32", "b32"},
                         [=](const std::uint64_t* in) {
                           std::int64_t sum = static_cast<std::int64_t>(in[2]);
                           for (std::uint32_t i = 0; i < 2; ++i)
                             sum += part(in[0], i, 16, a_signed) * part(in[1], 2 * high + i, 8, b_signed);
                           return low(static_cast<std::uint64_t>(sum), 32);
                         }});
      }
    }
  }
}

void add_packed(Forms& forms) {
  for (const bool is_signed : {false, true}) {
    const std::string t = is_signed ? "s16x2" : "u16x2";
    for (const std::string op : {"add", "min", "max"}) {
      forms.push_back({op + "." + t + " %0, %1, %2;", "b32", {"b32", "b32"}, [=](const std::uint64_t* in) {
                         std::uint64_t out = 0;
                         for (std::uint32_t i = 0; i < 2; ++i) {
                           const std::int64_t a = part(in[0], i, 16, is_signed);
                           const std::int64_t b = part(in[1], i, 16, is_signed);
                           const std::int64_t r = op == "add" ? a + b : op == "min" ? std::min(a, b) : std::max(a, b);
                           out |= low(static_cast<std::uint64_t>(r), 16) << (16 * i);
                         }
                         return out;
                       }});
    }
  }
}

}  // namespace

void add_integer_forms(Forms& forms) {
  for (const Integer& type : kIntegers) add_basic(forms, type);
  for (const Integer& type : kIntegers) {
    if (type.width < 64) add_wide(forms, type);
  }
  add_carries(forms, 32);
  add_carries(forms, 64);
  const Integer s32{"s32", 32, true};
  add(forms, "add.sat.s32 %0, %1, %2;", s32, 2, [](Wide a, Wide b, Wide) { return saturated(a + b); });
  add(forms, "sub.sat.s32 %0, %1, %2;", s32, 2, [](Wide a, Wide b, Wide) { return saturated(a - b); });
  add(forms, "mad.hi.sat.s32 %0, %1, %2, %3;", s32, 3, [](Wide a, Wide b, Wide c) { return saturated((a * b >> 32) + c); });
  add(forms, "max.relu.s32 %0, %1, %2;", s32, 2, [](Wide a, Wide b, Wide) { return std::max<Wide>(std::max(a, b), 0); });
  add(forms, "min.relu.s32 %0, %1, %2;", s32, 2, [](Wide a, Wide b, Wide) { return std::max<Wide>(std::min(a, b), 0); });
  add_mul24(forms);
  add_dot_products(forms);
  add_packed(forms);
}

}  // namespace ptx_test
