// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/ptx/generated_program.h"

#include <random>

namespace ptx_test {
namespace {

/// Private variables of a thread; each is used by its first letter's type.
constexpr const char* kDeclarations =
    "unsigned u0, u1, u2; int i0, i1; unsigned long long q0, q1; long long l0; float f0, f1; double d0; unsigned short h0; "
    "unsigned loc[8];";

class Generator {
 public:
  Generator(std::uint64_t seed, std::string name) : random_(seed), name_(std::move(name)) {}

  GeneratedProgram run() {
    helper();
    begin();
    const int phases = 2 + pick(4);
    for (int i = 0; i < phases; ++i) {
      phase();
      exchange();
    }
    phase();
    end();
    return {helper_ + device_, helper_host_ + host_};
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string number(std::uint64_t value) { return std::to_string(value); }

  std::string constant(char type) {
    static const char* kInterestingFloats[] = {"0.0", "1.0", "-1.5", "0.1", "1e-40", "3.4e38", "-2.25", "1e10"};
    static const char* kInteresting[] = {"0", "1", "2", "7", "31", "0xffffffff", "0x80000000", "0x7fffffff", "12345", "0x55555555"};
    if (type == 'f') return std::string(kInterestingFloats[pick(8)]) + "f";
    if (type == 'd') return kInterestingFloats[pick(8)];
    const std::string text = kInteresting[pick(10)];
    if (type == 'q') return text + "ull";
    if (type == 'l') return "(long long)" + text + "u";
    if (type == 'i') return "(int)" + text + "u";
    if (type == 'h') return "(unsigned short)" + text + "u";
    return text + "u";
  }

  std::string variable(char type) {
    switch (type) {
      case 'u':
        return chance(20) ? "loc[" + expression('u', 1) + " & 7]" : "u" + number(static_cast<std::uint64_t>(pick(3)));
      case 'i':
        return "i" + number(static_cast<std::uint64_t>(pick(2)));
      case 'q':
        return "q" + number(static_cast<std::uint64_t>(pick(2)));
      case 'l':
        return "l0";
      case 'f':
        return "f" + number(static_cast<std::uint64_t>(pick(2)));
      case 'd':
        return "d0";
      default:
        return "h0";
    }
  }

  char any_type() { return "uuuiiqlffdh"[pick(11)]; }

  std::string cast(char type, const std::string& text, char from) {
    switch (type) {
      case 'u':
        return from == 'f' || from == 'd' ? "to_u(" + text + ")" : "(unsigned)(" + text + ")";
      case 'i':
        return from == 'f' || from == 'd' ? "to_i(" + text + ")" : "(int)(" + text + ")";
      case 'q':
        return from == 'f' || from == 'd' ? "(unsigned long long)to_u(" + text + ")" : "(unsigned long long)(" + text + ")";
      case 'l':
        return from == 'f' || from == 'd' ? "(long long)to_i(" + text + ")" : "(long long)(" + text + ")";
      case 'f':
        return "(float)(" + text + ")";
      case 'd':
        return "(double)(" + text + ")";
      default:
        return from == 'f' || from == 'd' ? "(unsigned short)to_u(" + text + ")" : "(unsigned short)(" + text + ")";
    }
  }

  std::string expression(char type, int depth) {
    if (depth <= 0 || chance(15)) return chance(70) ? (type == 'u' && chance(15) ? "t" : variable_simple(type)) : constant(type);
    if (chance(15)) {
      const char from = any_type();
      return cast(type, expression(from, depth - 1), from);
    }
    if (chance(12))
      return "(" + condition(depth - 1) + " ? " + expression(type, depth - 1) + " : " + expression(type, depth - 1) + ")";
    const std::string a = expression(type, depth - 1);
    const std::string b = expression(type, depth - 1);
    if (type == 'f' || type == 'd') return floating(type, a, b, depth);
    return integral(type, a, b, depth);
  }

  std::string variable_simple(char type) {
    const std::string name = variable(type);
    return name.starts_with("loc") ? "u0" : name;
  }

  std::string floating(char type, const std::string& a, const std::string& b, int depth) {
    const std::string f = type == 'f' ? "f" : "";
    switch (pick(9)) {
      case 0:
        return "(" + a + " + " + b + ")";
      case 1:
        return "(" + a + " - " + b + ")";
      case 2:
        return "(" + a + " * " + b + ")";
      case 3:
        return "(" + a + " / " + b + ")";
      case 4:
        return "fma" + f + "(" + a + ", " + b + ", " + expression(type, depth - 1) + ")";
      case 5:
        return "least" + f + "(" + a + ", " + b + ")";
      case 6:
        return "sqrt" + f + "(fabs" + f + "(" + a + "))";
      case 7:
        return "floor" + f + "(" + a + ")";
      default:
        return "(-(" + a + "))";
    }
  }

  /// Everything wraps: signed arithmetic is done on the unsigned type, divisors are odd, shifts are masked.
  std::string integral(char type, const std::string& a, const std::string& b, int depth) {
    const bool is_long = type == 'q' || type == 'l';
    const std::string wide = is_long ? "(unsigned long long)" : "(unsigned)";
    const auto back = [&](const std::string& text) { return cast(type, text, 'u'); };
    const auto binary = [&](const char* op) { return back(wide + "(" + a + ") " + op + " " + wide + "(" + b + ")"); };
    switch (pick(type == 'u' ? 15 : 11)) {
      case 0:
        return binary("+");
      case 1:
        return binary("-");
      case 2:
        return binary("*");
      case 3:
        return binary("&");
      case 4:
        return binary("|");
      case 5:
        return binary("^");
      case 6:
        return back(wide + "(" + a + ") << (" + wide + "(" + b + ") & " + (is_long ? "63" : "31") + ")");
      case 7:
        return back("(" + a + ") >> (" + wide + "(" + b + ") & " + (type == 'h' ? "15" : is_long ? "63" : "31") + ")");
      case 8:
        return division(type, a, b, "/");
      case 9:
        return division(type, a, b, "%");
      case 10:
        return back("~(" + a + ")");
      case 11:
        return "(unsigned)popc(" + a + ")";
      case 12:
        return "(unsigned)clz(" + a + ")";
      case 13:
        return "helper_" + name_ + "(" + a + ", " + expression('f', depth - 1) + ")";
      default:
        return "mulhi(" + a + ", " + b + ")";
    }
  }

  std::string division(char type, const std::string& a, const std::string& b, const char* op) {
    if (type == 'i') return "((int)(" + a + ") " + op + " (int)(((" + b + ") & 0xffff) | 1))";
    if (type == 'l') return "((long long)(" + a + ") " + op + " (long long)(((" + b + ") & 0xffffff) | 1))";
    return cast(type, "(" + a + ") " + op + " ((" + b + ") | 1)", 'u');
  }

  std::string condition(int depth) {
    static const char* kCompare[] = {"<", "<=", ">", ">=", "==", "!="};
    const char type = any_type();
    const std::string test = "(" + expression(type, depth) + " " + kCompare[pick(6)] + " " + expression(type, depth) + ")";
    return chance(20) ? "(" + test + (chance(50) ? " && " : " || ") + condition(depth - 1 < 0 ? 0 : depth - 1) + ")" : test;
  }

  std::string statement(int depth, int loops) {
    const int kind = depth > 0 ? pick(10) : 0;
    if (kind <= 4) {
      const char type = any_type();
      return variable(type) + " = " + expression(type, 3) + ";\n";
    }
    if (kind <= 6) {
      std::string text = "if " + condition(2) + " {\n" + block(depth - 1, loops) + "}";
      return text + (chance(50) ? " else {\n" + block(depth - 1, loops) + "}\n" : "\n");
    }
    if (kind == 7 && loops < 2) {
      const std::string index = "n" + number(static_cast<std::uint64_t>(counter_++));
      return "for (unsigned " + index + " = 0; " + index + " < (" + expression('u', 1) + " & 7); ++" + index + ") {\n" +
             block(depth - 1, loops + 1) + (chance(30) ? "if " + condition(1) + " break;\n" : "") + "}\n";
    }
    if (kind == 8) {
      std::string text = "switch (" + expression('u', 2) + " & 7) {\n";
      for (int i = 0; i < 6; ++i)
        text += "case " + number(static_cast<std::uint64_t>(i)) + ": " + statement(depth - 1, 2) + (chance(80) ? "break;\n" : "");
      return text + "default: " + statement(0, 2) + "}\n";
    }
    return statement(0, loops);
  }

  std::string block(int depth, int loops) {
    std::string text;
    for (int i = 1 + pick(3); i > 0; --i) text += statement(depth, loops);
    return text;
  }

  void helper() {
    const std::string body =
        "(unsigned a, float b) {\nunsigned r = a ^ 0x9e3779b9u;\nif (b > 1.0f) r += to_u(b * 3.0f); else r = r * 7u + "
        "(unsigned)popc(a);\n"
        "for (unsigned k = 0; k < (a & 3); ++k) r = (r << 5) ^ (r >> 3);\nreturn r;\n}\n";
    helper_ = "static __device__ " + std::string(chance(50) ? "__noinline__ " : "") + "unsigned helper_" + name_ + body;
    helper_host_ = "static unsigned helper_" + name_ + body;
  }

  void begin() {
    device_ = "extern \"C\" __global__ void g" + name_ +
              "(const unsigned* in, unsigned* out, unsigned* sums) {\n__shared__ unsigned s[64]; __shared__ unsigned a8[8];\n" +
              std::string(kDeclarations) + "\nconst unsigned t = threadIdx.x; const unsigned g = blockIdx.x * 64 + t;\n";
    host_ =
        "extern \"C\" void g" + name_ +
        "(const unsigned* in, unsigned* out, unsigned* sums, unsigned blocks) {\nfor (unsigned blk = 0; blk < blocks; ++blk) {\n"
        "unsigned s[64], a8[8], tmp[64]; Thread ts[64];\n";
    both(
        "u0 = in[g * 4]; u1 = in[g * 4 + 1]; u2 = t; i0 = (int)in[g * 4 + 2]; i1 = (int)(g * 3u); q0 = ((unsigned long long)u0 << "
        "32) | u1; q1 = g; l0 = (long long)i0 * i1;\n"
        "f0 = (float)(int)in[g * 4 + 3] * 0.001f; f1 = (float)t; d0 = (double)f0 * 1.5; h0 = (unsigned short)u1; for (unsigned k = "
        "0; k < 8; ++k) loc[k] = u0 + k;\n");
  }

  /// The same statements, for one thread there and for each thread in turn here.
  void both(const std::string& text) {
    device_ += "{\n" + text + "}\n";
    host_ += "for (unsigned t = 0; t < 64; ++t) { const unsigned g = blk * 64 + t; (void)g; BIND(ts[t])\n" + text + "}\n";
  }

  void host_each(const std::string& text) { host_ += "for (unsigned t = 0; t < 64; ++t) { BIND(ts[t]) " + text + " }\n"; }

  void phase() { both(block(3, 0)); }

  /// Something between threads.
  void exchange() {
    const std::string k = number(static_cast<std::uint64_t>(1 << pick(5)));
    switch (pick(8)) {
      case 0:
      case 1: {
        const std::string factor = number(static_cast<std::uint64_t>(pick(8) * 2 + 1));
        device_ += "__syncthreads(); s[t] = u0; __syncthreads(); u1 ^= s[(t * " + factor + " + " + k + ") & 63];\n";
        host_each("s[t] = u0;");
        host_each("u1 ^= s[(t * " + factor + " + " + k + ") & 63];");
        break;
      }
      case 2:
        device_ += "u0 += __shfl_xor_sync(0xffffffffu, u1, " + k + ");\n";
        shuffled("u1", "u0 += tmp[(t & 32) | ((t ^ " + k + ") & 31)];");
        break;
      case 3:
        device_ += "u2 = __shfl_down_sync(0xffffffffu, u2, " + k + ", 16);\n";
        shuffled("u2", "u2 = tmp[((t & 15) + " + k + ") < 16 ? t + " + k + " : t];");
        break;
      case 4:
        device_ += "u1 = __shfl_sync(0xffffffffu, u1, u0 & 31);\n";
        shuffled("u1", "u1 = tmp[(t & 32) | (u0 & 31)];");
        break;
      case 5:
        device_ += "u2 ^= __ballot_sync(0xffffffffu, (u0 & 4) != 0);\n";
        shuffled("((u0 & 4) != 0)", "unsigned b = 0; for (unsigned n = 0; n < 32; ++n) b |= tmp[(t & 32) + n] << n; u2 ^= b;");
        break;
      case 6:
        device_ +=
            "__syncthreads(); if (t < 8) a8[t] = 0; __syncthreads(); atomicAdd(&a8[u0 & 7], u1); __syncthreads(); u2 += a8[t & "
            "7];\n";
        host_ += "for (unsigned n = 0; n < 8; ++n) a8[n] = 0;\n";
        host_each("a8[u0 & 7] += u1;");
        host_each("u2 += a8[t & 7];");
        break;
      default:
        device_ += "atomicAdd(&sums[u0 & 15], u1 | 1u); atomicXor(&sums[16 + (u1 & 15)], u0);\n";
        host_each("sums[u0 & 15] += u1 | 1u; sums[16 + (u1 & 15)] ^= u0;");
        break;
    }
  }

  void shuffled(const std::string& source, const std::string& use) {
    host_each("tmp[t] = " + source + ";");
    host_each(use);
  }

  void end() {
    both(
        "unsigned x = 0; for (unsigned k = 0; k < 8; ++k) x = x * 31u + loc[k];\n"
        "out[g * 6] = u0 ^ u1; out[g * 6 + 1] = u2 + (unsigned)i0 * 3u + (unsigned)i1; out[g * 6 + 2] = (unsigned)q0 ^ "
        "(unsigned)(q0 >> 32) ^ (unsigned)q1 ^ (unsigned)(l0 >> 7);\n"
        "out[g * 6 + 3] = word(f0) ^ (word(f1) >> 1); out[g * 6 + 4] = word64(d0) + h0; out[g * 6 + 5] = x;\n");
    device_ += "}\n";
    host_ += "}\n}\n";
  }

  std::mt19937_64 random_;
  std::string name_;
  std::string device_;
  std::string host_;
  std::string helper_;
  std::string helper_host_;
  int counter_ = 0;
};

constexpr const char* kShared =
    "HD unsigned to_u(double x) { return x == x ? (x <= 0.0 ? 0u : x >= 4294967295.0 ? 0xffffffffu : (unsigned)x) : 7u; }\n"
    "HD int to_i(double x) { return x == x ? (x <= -2147483648.0 ? -2147483647 - 1 : x >= 2147483647.0 ? 2147483647 : (int)x) : 7; "
    "}\n";

}  // namespace

GeneratedProgram generate_program(std::uint64_t seed, const std::string& name) {
  return Generator(seed, name).run();
}

std::string device_preamble() {
  return std::string("#define HD static __device__ __forceinline__\n") + kShared +
         "HD unsigned word(float f) { return f == f ? __float_as_uint(f) : 0x7fc00000u; }\n"
         "HD unsigned word64(double d) { unsigned long long b = __double_as_longlong(d); return d == d ? (unsigned)(b ^ (b >> 32)) "
         ": 77u; }\n"
         "HD float leastf(float a, float b) { return fminf(a, b); }\nHD double least(double a, double b) { return fmin(a, b); }\n"
         "HD int popc(unsigned x) { return __popc(x); }\nHD int clz(unsigned x) { return __clz(x); }\nHD unsigned mulhi(unsigned "
         "a, unsigned b) { return __umulhi(a, b); }\n";
}

std::string host_preamble() {
  return std::string("#include <math.h>\n#include <string.h>\n#define HD static inline\n") + kShared +
         "HD unsigned word(float f) { unsigned b; memcpy(&b, &f, 4); return f == f ? b : 0x7fc00000u; }\n"
         "HD unsigned word64(double d) { unsigned long long b; memcpy(&b, &d, 8); return d == d ? (unsigned)(b ^ (b >> 32)) : 77u; "
         "}\n"
         // C leaves open which zero is less; PTX does not.
         "HD double least(double a, double b) { if (a != a) return b; if (b != b) return a; if (a == b) return signbit(a) ? a : b; "
         "return a < b ? a : b; }\n"
         "HD float leastf(float a, float b) { return (float)least(a, b); }\n"
         "HD int popc(unsigned x) { return __builtin_popcount(x); }\nHD int clz(unsigned x) { return x ? __builtin_clz(x) : 32; }\n"
         "HD unsigned mulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }\nstruct Thread { " +
         kDeclarations +
         " };\n#define BIND(v) auto &u0 = v.u0, &u1 = v.u1, &u2 = v.u2; auto &i0 = v.i0, &i1 = v.i1; auto &q0 = v.q0, &q1 = v.q1; "
         "auto& l0 = v.l0; "
         "auto &f0 = v.f0, &f1 = v.f1; auto& d0 = v.d0; auto& h0 = v.h0; auto& loc = v.loc; "
         "(void)u0, (void)u1, (void)u2, (void)i0, (void)i1, (void)q0, (void)q1, (void)l0, (void)f0, (void)f1, (void)d0, (void)h0, "
         "(void)loc;\n";
}

}  // namespace ptx_test
