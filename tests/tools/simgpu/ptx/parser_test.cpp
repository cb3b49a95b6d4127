// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/parser.h"

#include <catch2/catch.hpp>

#include "tests/tools/simgpu/ptx/ptx_support.h"
#include "tools/simgpu/ptx/syntax/lexer.h"

namespace ptx_test {

using namespace cupool::simgpu::ptx;

namespace {

std::string message_of(const std::string& text) {
  const auto parsed = parse(text);
  if (parsed) return "accepted";
  return std::to_string(parsed.error().line) + ": " + parsed.error().message;
}

std::string in_body(const std::string& body) {
  return message_of(ptx(".entry k() {\n" + body + "\n}\n"));
}

std::string load_log(const std::string& body) {
  return load_failure(kernel(body)).log;
}

}  // namespace

TEST_CASE("the lexer tells words, modifiers and numbers apart", "[ptx][lexer]") {
  Lexer lexer(
      "ld.global.L2::128B.v4.f32 %f1 0x1F 017 0b101 42U 0f3F800000 0d3FF0000000000000 1.5e1 \"a\\\"b\" << // end\n/* x\n */ ;");
  const auto next = [&] { return lexer.next(); };
  CHECK(next().is_word("ld"));
  CHECK(next().is_dotted("global"));
  CHECK(next().is_dotted("L2::128B"));
  CHECK(next().is_dotted("v4"));
  CHECK(next().is_dotted("f32"));
  CHECK(next().is_word("%f1"));
  CHECK(next().value == 0x1f);
  CHECK(next().value == 15);
  CHECK(next().value == 5);
  const Token suffixed = next();
  CHECK(suffixed.value == 42);
  CHECK(suffixed.is_unsigned);
  const Token single = next();
  CHECK(single.value == 0x3f800000);
  CHECK_FALSE(single.is_double);
  CHECK(next().is_double);
  CHECK(next().value == 0x402e000000000000);
  CHECK(next().text == "a\\\"b");
  CHECK(next().text == "<<");
  const Token semicolon = next();
  CHECK(semicolon.is(';'));
  CHECK(semicolon.line == 3);
  CHECK(next().kind == Token::Kind::end);
  CHECK(lexer.error().empty());
}

TEST_CASE("a text that is not PTX is refused with line and reason", "[ptx][parser]") {
  CHECK(message_of("") == "1: PTX starts with .version, not with end of text");
  CHECK(message_of("hello") == "1: PTX starts with .version, not with 'hello'");
  CHECK(message_of(".version 2.3\n.target sm_20\n") == "1: PTX version 2.3 is not supported (3.0 to 9.x are)");
  CHECK(message_of(".version 8\n") == "1: expected a version such as 8.3");
  CHECK(message_of(".version 8.0\n.target gfx90\n.target sm_8x\n") == "3: target 'sm_8x' is not known");
  CHECK(message_of(".version 8.0\n") == "2: no .target");
  CHECK(message_of(".version 8.0\n.target sm_80\n.address_size 32\n") == "4: only .address_size 64 is supported");
  CHECK(message_of(ptx(".global .texref t;")) == "4: '.texref' is not supported in a declaration");
  CHECK(message_of(ptx(".surface x;")) == "4: directive '.surface' is not supported");
  CHECK(message_of(ptx(".global .align 3 .b8 x;")) == "4: alignment must be a power of two up to 4096");
  CHECK(message_of(ptx(".global .b32 x[2] = {1, 2, 3};")) == "4: more initial values than elements");
  CHECK(message_of(ptx(".global .b32 x[0xffffffffffffffff][8];")) == "4: variable is too large");
  CHECK(message_of(ptx("/* open")) == "4: comment without end");
  CHECK(message_of(ptx(".entry k() .reqnctapercluster 2 { ret; }")) == "4: clusters of more than one block are not supported");
}

TEST_CASE("a wrong body is refused with line and reason", "[ptx][parser]") {
  CHECK(in_body("ret") == "6: expected an operand before '}'");
  CHECK(in_body(".reg .b32 %r<3>; add.u32 %r1, %r2 %r0;") == "5: expected ';' before '%r0'");
  CHECK(in_body("bra there;") == "5: label 'there' is not defined");
  CHECK(in_body("{ here: }\nbra here;") == "6: label 'here' is not defined");
  CHECK(in_body(".reg .b32 %r; .reg .b32 %r;") == "5: '%r' is declared twice in this scope");
  CHECK(in_body("a: a: ret;") == "5: 'a' is declared twice in this scope");
  CHECK(in_body("@%p ret;") == "5: '%p' is not a predicate register");
  CHECK(in_body("ld.u32 %r1, [%r2];") == "5: '%r2' is not declared");
  CHECK(in_body("mov.u32 %r1, $;") == "accepted");
  CHECK(in_body("mov.u32 %r1, ;") == "5: expected an operand before ';'");
  CHECK(in_body("mov.u32 %r1, 0x;") == "5: number without digits");
  CHECK(in_body("mov.f32 %r1, 0f12;") == "5: 0f needs 8 hexadecimal digits");
  CHECK(in_body("mov.u64 %r1, 99999999999999999999;") == "5: integer does not fit in 64 bits");
  CHECK(in_body("mov.u32 %r1, (1 / 0);") == "5: division by zero in a constant expression");
  CHECK(in_body("tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}];") ==
        "5: addresses with several coordinates (textures, tensors) are not supported");
  CHECK(in_body(std::string(100, '{')) == "5: scopes nested too deeply");
  CHECK(message_of(ptx(".entry k() {\nret;\n")) == "6: function k has no end");
  CHECK(in_body("mov.u32 %r1, \x01;") == "5: unexpected byte 0x01");
}

TEST_CASE("inner scopes have names of their own", "[ptx][parser]") {
  const auto parsed =
      parse(ptx(".entry k() {\n.reg .b32 a; mov.u32 a, 1;\n{ .reg.b16 a; mov.u16 a, 2; x: bra x; }\n{ x: bra x; }\n}\n"));
  REQUIRE(parsed.has_value());
  const Function& function = parsed->functions.at(0);
  REQUIRE(function.registers.size() == 2);
  CHECK(function.registers[1].type == kB16);
  CHECK(function.instructions[1].operands[0].reg == 1);
  CHECK(function.instructions[2].operands[0].label == 0);
  CHECK(function.instructions[3].operands[0].label == 1);
}

TEST_CASE("register ranges cost nothing until they are used", "[ptx][parser]") {
  const auto parsed = parse(ptx(".entry k() { .reg .b32 %r<4000000000>; mov.u32 %r3999999999, %r7; ret; }"));
  REQUIRE(parsed.has_value());
  CHECK(parsed->functions[0].registers.size() == 2);
  CHECK(in_body(".reg .b32 %r<4>; ld.u32 %r1, [%r4];") == "5: '%r4' is not declared");
}

TEST_CASE("debug information and pragmas are passed over", "[ptx][parser]") {
  CHECK(message_of(ptx(".file 1 \"x.cu\", 123, 456\n.entry k() {\n.loc 1 2 3, function_name $L, inlined_at 1 2 3\n.pragma "
                       "\"nounroll\";\nret;\n}\n"
                       ".section .debug_info {\n.b8 1,2\n.b32 .debug_abbrev\n}\n")) == "accepted");
}

TEST_CASE("what is not supported ends the load with line and instruction", "[ptx][translate]") {
  CHECK(load_log("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%w0], 32;") ==
        "ptx line 7: tcgen05.alloc.cta_group::1.sync.aligned.b32: this instruction is not supported");
  CHECK(load_log("add.frob.u32 %r1, %r2, %r3;") == "ptx line 7: add.frob.u32: modifier '.frob' is not supported here");
  CHECK(load_log("add.u32 %r1, %r2;") == "ptx line 7: add.u32: operands are missing");
  CHECK(load_log("add.u32 %r1, %r2, %r3, %r4;") == "ptx line 7: add.u32: there are too many operands");
  CHECK(load_log("add.u64 %r1, %w2, %w3;") == "ptx line 7: add.u64: register %r1 is narrower than u64");
  CHECK(load_log("add.u32 %r1, %r2, %bad;") == "ptx line 7: add.u32: register '%bad' is not declared");
  CHECK(load_log("mov.u64 %w1, nowhere;") == "ptx line 7: mov.u64: 'nowhere' is not declared");
  CHECK(load_log("call.uni nowhere;") == "ptx line 7: call.uni: function 'nowhere' is not defined");
  CHECK(load_log("cvt.s32.f32 %r1, %f1;") == "ptx line 7: cvt.s32.f32: a rounding to integer is missing");
  CHECK(load_log("cvt.f32.s32 %f1, %r1;") == "ptx line 7: cvt.f32.s32: a rounding is missing");
  CHECK(load_log("setp.u32 %p1, %r1, %r2;") == "ptx line 7: setp.u32: comparison is missing");
  CHECK(load_log("ld.param.u64 %w1, [out+8];") == "ptx line 7: ld.param.u64: beyond the end of 'out'");
  CHECK(load_log("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2,%r3}, {%f0,%f1,%f2,%f3};") ==
        "ptx line 7: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: operand 2 needs 4 registers");
  CHECK(load_log("st.const.u32 [%w0], %r0;") == "ptx line 7: st.const.u32: constants cannot be written");
  CHECK(load_log("add.f32 %f1, %f2, 3;") == "ptx line 7: add.f32: an integer constant cannot be f32");
}

TEST_CASE("an extern that nothing defines is named", "[ptx][link]") {
  const LoadFailure failure = load_failure(ptx(".extern .func f();\n.entry k() { call f; ret; }"));
  CHECK(failure.error == LoadError::unresolved);
  CHECK(failure.log == "ptx line 4: extern function 'f' is defined nowhere");
  CHECK(load_failure(ptx(".extern .global .b32 x;")).log == "ptx line 4: extern variable 'x' is defined nowhere");
  CHECK(load_failure(".version 8.0\n.target sm_10\n").error == LoadError::unsupported_version);
}

TEST_CASE("a kernel's parameters lie at their natural alignment", "[ptx][program]") {
  const auto program =
      load(ptx(".visible .entry k(.param .u32 a, .param .u64 b, .param .align 4 .b8 c[12], .param .u8 d) .maxntid 64, 2 { ret; }\n"
               ".visible .entry r() .reqntid 32 { .shared .align 16 .b8 s[20]; .reg .b32 %r; mov.u32 %r, s; ret; }\n"
               ".visible .const .align 8 .b32 table[3] = {1, 2, 3};\n.global .u64 to = table;\n"));
  const KernelInfo& k = program->kernels()[0];
  REQUIRE(k.parameters.size() == 4);
  CHECK(k.parameters[1].offset == 8);
  CHECK(k.parameters[2].offset == 16);
  CHECK(k.parameters[2].size == 12);
  CHECK(k.parameters[3].offset == 28);
  CHECK(k.parameter_bytes == 29);
  CHECK(k.max_threads == 128);
  CHECK(program->kernels()[1].required_block[0] == 32);
  CHECK(program->kernels()[1].shared_bytes == 20);
  CHECK(program->find_kernel("r") == 1);
  CHECK(program->find_kernel("nothing") == -1);
  const int table = program->find_global("table");
  REQUIRE(table >= 0);
  CHECK(program->globals()[static_cast<std::size_t>(table)].constant);
  CHECK(program->globals()[static_cast<std::size_t>(table)].alignment == 8);
  const std::vector<std::uint64_t> addresses{0x1000, 0x2000};
  const auto bytes = program->initial_bytes(static_cast<std::size_t>(program->find_global("to")), addresses);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), 8);
  CHECK(value == addresses[static_cast<std::size_t>(table)]);
}

}  // namespace ptx_test
