// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, bit fields.
#include <algorithm>

#include "tests/tools/simgpu/ptx/instruction_form.h"

namespace ptx_test {
namespace {

std::string b(std::uint32_t width) {
  return "b" + std::to_string(width);
}

void add_logic(Forms& forms) {
  for (const std::string type : {"pred", "b16", "b32", "b64"}) {
    const std::uint32_t width = bits_of(type);
    forms.push_back({"and." + type + " %0, %1, %2;", type, {type, type}, [](const std::uint64_t* in) { return in[0] & in[1]; }});
    forms.push_back({"or." + type + " %0, %1, %2;", type, {type, type}, [](const std::uint64_t* in) { return in[0] | in[1]; }});
    forms.push_back({"xor." + type + " %0, %1, %2;", type, {type, type}, [](const std::uint64_t* in) { return in[0] ^ in[1]; }});
    forms.push_back({"not." + type + " %0, %1;", type, {type}, [width](const std::uint64_t* in) { return low(~in[0], width); }});
    if (type == "pred") continue;
    forms.push_back({"cnot." + type + " %0, %1;", type, {type}, [](const std::uint64_t* in) { return std::uint64_t{in[0] == 0}; }});
  }
  for (const std::uint32_t table : {0x00U, 0x01U, 0x80U, 0x96U, 0xe8U, 0xcaU, 0xf0U, 0xffU, 0x6aU}) {
    forms.push_back(
        {"lop3.b32 %0, %1, %2, %3, " + std::to_string(table) + ";", "b32", {"b32", "b32", "b32"}, [table](const std::uint64_t* in) {
           std::uint64_t out = 0;
           for (std::uint32_t i = 0; i < 32; ++i) {
             const std::uint64_t row = (in[0] >> i & 1) * 4 + (in[1] >> i & 1) * 2 + (in[2] >> i & 1);
             out |= std::uint64_t{table >> row & 1} << i;
           }
           return out;
         }});
  }
}

void add_shifts(Forms& forms) {
  for (const std::uint32_t width : {16U, 32U, 64U}) {
    const std::string n = std::to_string(width);
    forms.push_back({"shl.b" + n + " %0, %1, %2;", b(width), {b(width), "u32"}, [width](const std::uint64_t* in) {
                       return in[1] >= width ? 0 : low(in[0] << in[1], width);
                     }});
    for (const std::string& type : {"b" + n, "u" + n}) {
      forms.push_back({"shr." + type + " %0, %1, %2;", type, {type, "u32"}, [width](const std::uint64_t* in) {
                         return in[1] >= width ? 0 : in[0] >> in[1];
                       }});
    }
    forms.push_back(
        {"shr.s" + n + " %0, %1, %2;", "s" + n, {"s" + n, "u32"}, [width](const std::uint64_t* in) {
           return low(static_cast<std::uint64_t>(sign_extend(in[0], width) >> std::min<std::uint64_t>(in[1], width - 1)), width);
         }});
    for (const std::uint32_t amount : {0U, 1U, width - 1}) {
      forms.push_back({"shr.s" + n + " %0, %1, " + std::to_string(amount) + ";", "s" + n, {"s" + n}, [=](const std::uint64_t* in) {
                         return low(static_cast<std::uint64_t>(sign_extend(in[0], width) >> amount), width);
                       }});
      forms.push_back(
          {"shl.b" + n + " %0, %1, " + std::to_string(amount) + ";", b(width), {b(width)}, [=](const std::uint64_t* in) {
             return low(in[0] << amount, width);
           }});
    }
  }
  for (const bool wrap : {false, true}) {
    const std::string mode = wrap ? "wrap" : "clamp";
    const auto amount = [wrap](std::uint64_t n) { return wrap ? n & 31 : std::min<std::uint64_t>(n, 32); };
    forms.push_back({"shf.l." + mode + ".b32 %0, %1, %2, %3;", "b32", {"b32", "b32", "u32"}, [amount](const std::uint64_t* in) {
                       return (in[1] << 32 | in[0]) << amount(in[2]) >> 32;
                     }});
    forms.push_back({"shf.r." + mode + ".b32 %0, %1, %2, %3;", "b32", {"b32", "b32", "u32"}, [amount](const std::uint64_t* in) {
                       return low((in[1] << 32 | in[0]) >> amount(in[2]), 32);
                     }});
  }
}

void add_counts(Forms& forms) {
  for (const std::uint32_t width : {32U, 64U}) {
    const std::string t = b(width);
    forms.push_back({"popc." + t + " %0, %1;", "u32", {t}, [](const std::uint64_t* in) {
                       std::uint64_t n = 0;
                       for (std::uint64_t x = in[0]; x != 0; x >>= 1) n += x & 1;
                       return n;
                     }});
    forms.push_back({"clz." + t + " %0, %1;", "u32", {t}, [width](const std::uint64_t* in) {
                       std::uint64_t n = 0;
                       while (n < width && (in[0] >> (width - 1 - n) & 1) == 0) ++n;
                       return n;
                     }});
    forms.push_back({"brev." + t + " %0, %1;", t, {t}, [width](const std::uint64_t* in) {
                       std::uint64_t out = 0;
                       for (std::uint32_t i = 0; i < width; ++i) out = out << 1 | (in[0] >> i & 1);
                       return out;
                     }});
    for (const char kind : {'u', 's'}) {
      const std::string type = kind + std::to_string(width);
      for (const bool shift : {false, true}) {
        forms.push_back(
            {std::string("bfind.") + (shift ? "shiftamt." : "") + type + " %0, %1;", "u32", {type}, [=](const std::uint64_t* in) {
               std::uint64_t a = in[0];
               if (kind == 's' && sign_extend(a, width) < 0) a = low(~a, width);
               std::uint64_t at = 0xffffffff;
               for (std::uint32_t i = 0; i < width; ++i) {
                 if ((a >> i & 1) != 0) at = i;
               }
               return shift && at != 0xffffffff ? width - 1 - at : at;
             }});
      }
      forms.push_back({"bfe." + type + " %0, %1, %2, %3;", type, {type, "u32", "u32"}, [=](const std::uint64_t* in) {
                         // As the ISA's pseudo code: bits beyond the word are the sign for signed types, else zero.
                         const std::uint64_t position = in[1] & 0xff;
                         const std::uint64_t length = in[2] & 0xff;
                         std::uint64_t sign = 0;
                         if (kind == 's' && length != 0)
                           sign = in[0] >> std::min<std::uint64_t>(position + length - 1, width - 1) & 1;
                         std::uint64_t out = sign != 0 ? low(~std::uint64_t{0}, width) : 0;
                         for (std::uint64_t i = 0; i < length && i < width && position + i < width; ++i) {
                           out = (out & ~(std::uint64_t{1} << i)) | (in[0] >> (position + i) & 1) << i;
                         }
                         return out;
                       }});
    }
    forms.push_back({"bfi." + t + " %0, %1, %2, %3, 5;", t, {t, t, "u32"}, [width](const std::uint64_t* in) {
                       std::uint64_t out = in[1];
                       for (std::uint64_t i = 0; i < 5 && (in[2] & 0xff) + i < width; ++i) {
                         const std::uint64_t place = (in[2] & 0xff) + i;
                         out = (out & ~(std::uint64_t{1} << place)) | (in[0] >> i & 1) << place;
                       }
                       return out;
                     }});
  }
}

void add_fields(Forms& forms) {
  for (const bool wrap : {false, true}) {
    const std::string mode = wrap ? "wrap" : "clamp";
    for (const char kind : {'u', 's'}) {
      const std::string type = kind + std::string("32");
      forms.push_back({"szext." + mode + "." + type + " %0, %1, %2;", type, {type, "u32"}, [=](const std::uint64_t* in) {
                         const std::uint64_t n = wrap ? in[1] & 31 : std::min<std::uint64_t>(in[1], 32);
                         if (n == 0) return std::uint64_t{0};
                         const std::uint64_t cut = low(in[0], static_cast<std::uint32_t>(n));
                         return kind == 'u' ? cut
                                            : low(static_cast<std::uint64_t>(sign_extend(cut, static_cast<std::uint32_t>(n))), 32);
                       }});
    }
    forms.push_back({"bmsk." + mode + ".b32 %0, %1, %2;", "b32", {"u32", "u32"}, [wrap](const std::uint64_t* in) {
                       const std::uint64_t from = wrap ? in[0] & 31 : std::min<std::uint64_t>(in[0], 32);
                       const std::uint64_t count = wrap ? in[1] & 31 : std::min<std::uint64_t>(in[1], 32);
                       std::uint64_t out = 0;
                       for (std::uint64_t i = from; i < from + count && i < 32; ++i) out |= std::uint64_t{1} << i;
                       return out;
                     }});
  }
  const auto byte = [](const std::uint64_t* in, std::uint64_t i) { return (in[1] << 32 | in[0]) >> (8 * (i & 7)) & 0xff; };
  forms.push_back({"prmt.b32 %0, %1, %2, %3;", "b32", {"b32", "b32", "b32"}, [byte](const std::uint64_t* in) {
                     std::uint64_t out = 0;
                     for (int i = 0; i < 4; ++i) {
                       const std::uint64_t s = in[2] >> (4 * i) & 15;
                       std::uint64_t v = byte(in, s & 7);
                       if ((s & 8) != 0) v = v >= 0x80 ? 0xff : 0;
                       out |= v << (8 * i);
                     }
                     return out;
                   }});
  // Result bytes, lowest first, for selectors 0 to 3: the ISA's table of modes.
  const std::pair<std::string, const char*> tables[] = {{"f4e", "0123123423453456"}, {"b4e", "0765107621073210"},
                                                        {"rc8", "0000111122223333"}, {"ecl", "0123112322233333"},
                                                        {"ecr", "0000011101220123"}, {"rc16", "0101232301012323"}};
  for (const auto& [mode, table] : tables) {
    const std::string rows = table;
    forms.push_back({"prmt.b32." + mode + " %0, %1, %2, %3;", "b32", {"b32", "b32", "b32"}, [=](const std::uint64_t* in) {
                       std::uint64_t out = 0;
                       for (std::size_t i = 0; i < 4; ++i)
                         out |= byte(in, static_cast<std::uint64_t>(rows[(in[2] & 3) * 4 + i] - '0')) << (8 * i);
                       return out;
                     }});
  }
  forms.push_back({"fns.b32 %0, %1, %2, %3;", "u32", {"b32", "u32", "s32"}, [](const std::uint64_t* in) -> std::uint64_t {
                     const std::int64_t offset = sign_extend(in[2], 32);
                     if (in[1] > 31) return 0xffffffff;
                     if (offset == 0) return (in[0] >> in[1] & 1) != 0 ? in[1] : 0xffffffff;
                     std::int64_t found = 0;
                     for (std::int64_t at = static_cast<std::int64_t>(in[1]); at >= 0 && at < 32; at += offset < 0 ? -1 : 1) {
                       found += static_cast<std::int64_t>(in[0] >> at & 1);
                       if (found == (offset < 0 ? -offset : offset)) return static_cast<std::uint64_t>(at);
                     }
                     return 0xffffffff;
                   }});
}

}  // namespace

void add_bit_forms(Forms& forms) {
  add_logic(forms);
  add_shifts(forms);
  add_counts(forms);
  add_fields(forms);
}

}  // namespace ptx_test
