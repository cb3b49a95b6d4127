// SPDX-License-Identifier: Apache-2.0
// Every form of every instruction that computes, on edge values and random ones, against an independent reference, compiled by tcc
// and gcc.
#include <catch2/catch.hpp>
#include <cstring>
#include <iostream>
#include <random>

#include "tests/tools/simgpu/ptx/instruction_form.h"
#include "tests/tools/simgpu/ptx/ptx_support.h"

namespace ptx_test {
namespace {

using namespace cupool::simgpu::ptx;

constexpr std::size_t kRandom = 40;
constexpr std::uint32_t kSeed = 20261201;

Forms all_forms() {
  Forms forms;
  add_integer_forms(forms);
  add_bit_forms(forms);
  add_float_forms(forms);
  add_half_forms(forms);
  add_compare_forms(forms);
  add_convert_forms(forms);
  return forms;
}

/// The register that holds a value of this type: its class and number.
std::string register_of(const std::string& type, std::size_t number) {
  const std::string n = std::to_string(number);
  if (type == "pred") return "%p" + n;
  if (type == "f32") return "%f" + n;
  if (type == "f64") return "%d" + n;
  switch (bits_of(type)) {
    case 8:
    case 16:
      return "%h" + n;
    case 32:
      return "%r" + n;
    default:
      return "%w" + n;
  }
}

std::string load_operand(const std::string& type, std::size_t number) {
  const std::string reg = register_of(type, number);
  const std::string offset = "[%w10+" + std::to_string(8 * (number - 1)) + "]";
  if (type == "pred") return "ld.global.u8 %h19, " + offset + "; setp.ne.u16 " + reg + ", %h19, 0;\n";
  const std::uint32_t width = bits_of(type);
  if (width == 8) return "ld.global." + type + " " + reg + ", " + offset + ";\n";
  return "ld.global.b" + std::to_string(width) + " " + reg + ", " + offset + ";\n";
}

std::string store_result(const std::string& type) {
  const std::string reg = register_of(type, 0);
  if (type == "pred") return "selp.u64 %w12, 1, 0, " + reg + "; st.global.u64 [%w11], %w12;\n";
  const std::uint32_t width = bits_of(type);
  if (width == 8) return "cvt.u16.u16 %h18, " + reg + "; st.global.b8 [%w11], " + reg + ";\n";
  return "st.global.b" + std::to_string(width) + " [%w11], " + reg + ";\n";
}

std::string instantiated(const Form& form) {
  std::string text = form.text;
  for (std::size_t i = 0; i <= form.sources.size(); ++i) {
    const std::string hole = "%" + std::to_string(i);
    const std::string reg = register_of(i == 0 ? form.result : form.sources[i - 1], i);
    for (std::size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += reg.size()) text.replace(at, hole.size(), reg);
  }
  return text;
}

std::string kernel_text(const Form& form, std::size_t index) {
  std::string text = ".visible .entry k" + std::to_string(index) + "(.param .u64 in, .param .u64 out) {\n";
  text += ".reg .pred %p<4>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %w<20>; .reg .f32 %f<4>; .reg .f64 %d<4>;\n";
  text += ".reg .b32 %x<4>; .reg .b64 %y<4>; .reg .pred %q<4>;\n";
  text +=
      "ld.param.u64 %w10, [in]; ld.param.u64 %w11, [out]; mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x;\n";
  text += "mad.lo.u32 %r13, %r10, %r11, %r12; mad.wide.u32 %w10, %r13, 32, %w10; mad.wide.u32 %w11, %r13, 8, %w11;\n";
  for (std::size_t i = 0; i < form.sources.size(); ++i) text += load_operand(form.sources[i], i + 1);
  return text + instantiated(form) + "\n" + store_result(form.result) + "ret;\n}\n";
}

/// Operands of every lane: all edge values against each other (thinned where there are too many), then random bits.
std::vector<std::uint64_t> operand_values(const Form& form, std::mt19937_64& random) {
  std::vector<std::vector<std::uint64_t>> edges;
  std::size_t product = 1;
  for (const std::string& type : form.sources) {
    edges.push_back(edge_values(type));
    product *= edges.back().size();
  }
  const std::size_t step = product > 2000 ? 7 : 1;
  std::vector<std::uint64_t> values;
  for (std::size_t n = 0; n < product; n += step) {
    std::size_t left = n;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool used = i < edges.size();
      values.push_back(used ? edges[i][left % edges[i].size()] : 0);
      if (used) left /= edges[i].size();
    }
  }
  for (std::size_t n = 0; n < kRandom; ++n) {
    for (std::size_t i = 0; i < 4; ++i) values.push_back(i < form.sources.size() ? low(random(), bits_of(form.sources[i])) : 0);
  }
  return values;
}

bool is_nan(const std::string& type, std::uint64_t value) {
  if (type == "f32") return f32(value) != f32(value);
  if (type == "f64") return f64(value) != f64(value);
  if (type == "f16") return (value & 0x7fff) > 0x7c00;
  return type == "bf16" && (value & 0x7fff) > 0x7f80;
}

/// Distance in units of the last place, for results of the same sign.
std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

bool agrees(const Form& form, std::uint64_t got, std::uint64_t expected) {
  if (is_nan(form.result, expected)) return is_nan(form.result, got);
  return got == expected || distance(got, expected) <= form.tolerance;
}

std::string module_text(const Forms& forms) {
  std::string text = ".version 8.8\n.target sm_100\n.address_size 64\n";
  for (std::size_t i = 0; i < forms.size(); ++i) text += kernel_text(forms[i], i);
  return text;
}

/// The results of one form on all its operands.
std::vector<std::uint64_t> run_form(BlockMemory& memory, Instance& instance, std::uint32_t kernel,
                                    const std::vector<std::uint64_t>& values) {
  const std::size_t lanes = values.size() / 4;
  const std::uint64_t in = memory.allocate(values.size() * 8);
  const std::uint64_t out = memory.allocate((lanes + 64) * 8);
  std::memcpy(memory.host(in), values.data(), values.size() * 8);
  // The last block is full only if there are operands for it: lanes beyond read what lies there.
  const auto blocks = static_cast<std::uint32_t>(lanes / 4);
  const Outcome outcome = launch(instance, memory, kernel, {blocks}, {4}, parameters(in, out));
  REQUIRE(outcome.message == "");
  std::vector<std::uint64_t> results(blocks * 4);
  std::memcpy(results.data(), memory.host(out), results.size() * 8);
  memory.release(in);
  memory.release(out);
  return results;
}

}  // namespace

TEST_CASE("each form of an instruction gives what the reference gives, whichever compiler made it", "[ptx][instructions]") {
  const Forms forms = all_forms();
  std::cout << forms.size() << " instruction forms, seed " << kSeed << "\n";
  CHECK(forms.size() >= 400);
  const std::string text = module_text(forms);
  std::vector<std::vector<std::vector<std::uint64_t>>> by_compiler;
  for (const std::string& compiler : compilers()) {
    const auto program = load(text, compiler);
    BlockMemory memory;
    const auto instance = memory.instantiate(*program);
    std::mt19937_64 random(kSeed);
    std::vector<std::vector<std::uint64_t>> all;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const auto values = operand_values(forms[i], random);
      all.push_back(run_form(memory, *instance, static_cast<std::uint32_t>(i), values));
      std::size_t wrong = 0;
      for (std::size_t lane = 0; lane < all.back().size(); ++lane) {
        const std::uint64_t expected = forms[i].reference(values.data() + lane * 4);
        if (agrees(forms[i], all.back()[lane], expected)) continue;
        if (++wrong > 3) break;
        std::ostringstream what;
        what << std::hex << compiler << ": " << instantiated(forms[i]) << " of " << values[lane * 4] << ", " << values[lane * 4 + 1]
             << ", " << values[lane * 4 + 2] << " gives " << all.back()[lane] << ", not " << expected;
        FAIL_CHECK(what.str());
      }
    }
    by_compiler.push_back(std::move(all));
  }
  for (std::size_t c = 1; c < by_compiler.size(); ++c) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      INFO(instantiated(forms[i]));
      CHECK(by_compiler[c][i] == by_compiler[0][i]);
    }
  }
}

}  // namespace ptx_test
