// SPDX-License-Identifier: Apache-2.0
// Kernels whose threads work together: barriers, warp operations, shared and local memory, calls, atomics, links.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/tools/simgpu/ptx/ptx_support.h"
#include "tools/simgpu/ptx/runtime/pool.h"

namespace ptx_test {

using namespace cupool::simgpu::ptx;
using Words = std::vector<std::uint32_t>;

namespace {

/// Runs the kernel of one pointer over `threads` threads of one block; the result is what lies behind the pointer.
Words run(const std::string& text, std::uint32_t threads, std::size_t words, std::uint32_t blocks = 1,
          std::uint32_t dynamic_shared = 0, const std::string& compiler = "") {
  const auto program = load(text, compiler);
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  const std::uint64_t out = memory.allocate(words * 4);
  const Outcome outcome = launch(*instance, memory, 0, {blocks}, {threads}, parameters(out), {}, dynamic_shared);
  REQUIRE(outcome.message == "");
  return download<std::uint32_t>(memory, out, words);
}

const std::string kStoreR1 = "mad.wide.u32 %w1, %r0, 4, %w0; st.global.u32 [%w1], %r1;";
const std::string kTid = "mov.u32 %r0, %tid.x;\n";

/// One warp operation: %r0 is the lane, its result goes to %r1.
Words warp(const std::string& body, std::uint32_t threads = 32) {
  return run(kernel(kTid + body + "\n" + kStoreR1), threads, threads);
}

}  // namespace

TEST_CASE("a module of an old compiler runs", "[ptx]") {
  // As nvcc 4.2 wrote it: version 3.0, sm_20, lines and files, a kernel that is not visible.
  const std::string text =
      ".version 3.0\n.target sm_20\n.address_size 64\n.file 1 \"a.cu\"\n"
      ".entry k(\n.param .u64 k_param_0\n)\n{\n.reg .s32 %r<3>;\n.reg .s64 %rl<5>;\nld.param.u64 %rl1, [k_param_0];\n"
      "cvta.to.global.u64 %rl2, %rl1;\n.loc 1 6 1\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rl3, %r1, 4;\nadd.s64 %rl4, %rl2, %rl3;\n"
      "st.global.u32 [%rl4], %r1;\nret;\n}\n";
  const Words out = run(text, 40, 40);
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(out[i] == i);
}

TEST_CASE("a reversal through shared memory sees what the other threads wrote", "[ptx][barrier]") {
  const Words out = run(
      kernel(kTid +
             ".shared .align 4 .b32 s[96];\nmov.u32 %r2, s; shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;\n"
             "bar.sync 0;\nsub.u32 %r5, 95, %r0; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2; ld.shared.u32 %r1, [%r5];\n" +
             kStoreR1),
      96, 96);
  for (std::uint32_t i = 0; i < 96; ++i) CHECK(out[i] == 95 - i);
}

TEST_CASE("values in registers live across barriers in loops", "[ptx][barrier]") {
  const Words out = run(kernel(kTid +
                               ".shared .b32 s; mov.u32 %r1, 0; mov.u32 %r2, 0; setp.ne.u32 %p1, %r0, 0;\n"
                               "again: @%p1 bra skip; st.shared.u32 [s], %r2; skip: bar.sync 0; ld.shared.u32 %r3, [s]; add.u32 "
                               "%r1, %r1, %r3; bar.sync 0;\n"
                               "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 10; @%p2 bra again; add.u32 %r1, %r1, %r0;\n" +
                               kStoreR1),
                        70, 70);
  for (std::uint32_t i = 0; i < 70; ++i) CHECK(out[i] == 45 + i);
}

TEST_CASE("a barrier's reduction counts the whole block", "[ptx][barrier]") {
  const Words out = run(kernel(kTid +
                               "setp.lt.u32 %p1, %r0, 5; barrier.cta.red.popc.aligned.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, "
                               "%p1; bar.red.or.pred %p3, 0, !%p1;\n"
                               "@%p2 add.u32 %r1, %r1, 100; @%p3 add.u32 %r1, %r1, 1000;\n" +
                               kStoreR1),
                        48, 48);
  for (const std::uint32_t word : out) CHECK(word == 1005);
}

TEST_CASE("named barriers let one half produce for the other", "[ptx][barrier]") {
  // Warp 0 arrives and goes on; warp 1 waits for it.
  const Words out = run(kernel(kTid +
                               ".shared .b32 s[32]; mov.u32 %r2, s; and.b32 %r3, %r0, 31; mad.lo.u32 %r2, %r3, 4, %r2; setp.lt.u32 "
                               "%p1, %r0, 32; mov.u32 %r1, 7;\n"
                               "@!%p1 bra consumer; add.u32 %r4, %r0, 500; st.shared.u32 [%r2], %r4; bar.arrive 3, 64; bra end;\n"
                               "consumer: bar.sync 3, 64; ld.shared.u32 %r1, [%r2];\nend:\n" +
                               kStoreR1),
                        64, 64);
  CHECK(out[3] == 7);
  for (std::uint32_t i = 32; i < 64; ++i) CHECK(out[i] == 500 + i - 32);
}

TEST_CASE("threads that have left do not hold a barrier up", "[ptx][barrier]") {
  const Words out = run(kernel(kTid + "mov.u32 %r1, 1; setp.gt.u32 %p1, %r0, 9; @%p1 exit; bar.sync 0;\n" + kStoreR1), 40, 40);
  CHECK(out[9] == 1);
  CHECK(out[10] == 0);
}

TEST_CASE("shfl.sync moves values between lanes", "[ptx][warp]") {
  const auto lane = [](const std::string& text) { return warp("add.u32 %r2, %r0, 100; " + text); };
  const Words up = lane("shfl.sync.up.b32 %r1|%p1, %r2, 3, 0, 0xffffffff; @!%p1 add.u32 %r1, %r1, 1000;");
  const Words down = lane("shfl.sync.down.b32 %r1, %r2, 4, 0x1807, 0xffffffff;");  // segments of 8
  const Words bfly = lane("shfl.sync.bfly.b32 %r1, %r2, 5, 31, 0xffffffff;");
  const Words idx = lane("shfl.sync.idx.b32 %r1, %r2, 9, 31, -1;");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(up[i] == (i < 3 ? i + 1100 : i - 3 + 100));
    CHECK(down[i] == (i % 8 < 4 ? i + 4 : i) + 100);
    CHECK(bfly[i] == (i ^ 5) + 100);
    CHECK(idx[i] == 109);
  }
}

TEST_CASE("votes, matches and reductions see the whole mask", "[ptx][warp]") {
  CHECK(warp("setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r1, %p1, -1;")[17] == 0x1f);
  CHECK(warp("setp.lt.u32 %p1, %r0, 5; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;")[17] == 1);
  CHECK(warp("setp.lt.u32 %p1, %r0, 5; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;")[17] == 0);
  CHECK(warp("setp.lt.u32 %p1, %r0, 50; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;")[17] == 1);
  CHECK(warp("and.b32 %r2, %r0, 3; match.any.sync.b32 %r1, %r2, -1;")[6] == 0x44444444);
  CHECK(warp("and.b32 %r2, %r0, 3; match.all.sync.b32 %r1|%p1, %r2, -1;")[6] == 0);
  CHECK(warp("mov.b64 %w2, 77; match.all.sync.b64 %r1|%p1, %w2, -1;")[6] == 0xffffffff);
  CHECK(warp("redux.sync.add.u32 %r1, %r0, -1;")[3] == 496);
  CHECK(warp("sub.s32 %r2, %r0, 9; redux.sync.min.s32 %r1, %r2, -1;")[3] == static_cast<std::uint32_t>(-9));
  CHECK(warp("setp.lt.u32 %p1, %r0, 3; @%p1 redux.sync.xor.b32 %r1, %r0, 0x7;")[2] == 3);
  CHECK(warp("elect.sync %r1|%p1, -1; @%p1 add.u32 %r1, %r1, 40;")[0] == 40);
}

TEST_CASE("lanes that diverged act within their own mask", "[ptx][warp]") {
  const Words out = warp(
      "setp.lt.u32 %p1, %r0, 8; @%p1 bra small; redux.sync.add.u32 %r1, %r0, 0xffffff00; bra end; small: activemask.b32 %r3; "
      "redux.sync.max.u32 %r1, %r0, %r3; end:");
  CHECK(out[0] == 7);
  CHECK(out[31] == 496 - 28);
}

TEST_CASE("a function that waits is expanded where it is called", "[ptx][call]") {
  const std::string text =
      ptx(".func (.param .b32 r) sum(.param .b32 x) { .reg .b32 %a<4>; .reg .pred %p; ld.param.b32 %a1, [x]; setp.eq.u32 %p, %a1, "
          "1000; @%p bra out;\n"
          "shfl.sync.bfly.b32 %a2, %a1, 1, 31, -1; add.u32 %a1, %a1, %a2; st.param.b32 [r], %a1; ret; out: st.param.b32 [r], 0; "
          "ret; }\n"
          ".visible .entry k(.param .u64 out) { .reg .b32 %r<8>; .reg .b64 %w<4>; ld.param.u64 %w0, [out]; mov.u32 %r0, %tid.x;\n"
          "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), sum, (p); ld.param.b32 %r1, [q]; }\n"
          "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), sum, (p); ld.param.b32 %r1, [q]; }\n"
          "mad.wide.u32 %w1, %r0, 4, %w0; st.global.u32 [%w1], %r1; ret; }\n");
  const Words out = run(text, 32, 32);
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(out[i] == 2 * (i + (i ^ 1)));
}

TEST_CASE("functions call themselves and each other, also by address", "[ptx][call]") {
  const std::string text = ptx(
      ".visible .func (.param .b32 r) fib(.param .b32 n);\n"
      ".visible .func (.param .b32 r) fib(.param .b32 n) { .reg .b32 %a<6>; .reg .pred %p; .local .b32 keep; ld.param.b32 %a0, "
      "[n]; st.local.b32 [keep], %a0; setp.lt.u32 %p, %a0, 2; @%p bra end;\n"
      "{ .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call (y), fib, (x); ld.param.b32 %a2, [y]; }\n"
      "{ .param .b32 x; .param .b32 y; ld.local.b32 %a0, [keep]; sub.u32 %a1, %a0, 2; st.param.b32 [x], %a1; call (y), fib, (x); "
      "ld.param.b32 %a3, [y]; }\n"
      "add.u32 %a0, %a2, %a3; end: st.param.b32 [r], %a0; ret; }\n"
      ".func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, %a; st.param.b32 [r], %a; "
      "ret; }\n"
      ".global .u64 table[2] = {fib, twice};\n"
      ".visible .entry k(.param .u64 out) { .reg .b32 %r<8>; .reg .b64 %w<4>; ld.param.u64 %w0, [out]; mov.u32 %r0, %tid.x; "
      "and.b32 %r2, %r0, 1;\n"
      "mov.u64 %w2, table; mad.wide.u32 %w2, %r2, 8, %w2; ld.global.u64 %w3, [%w2];\n"
      "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (q), "
      "%w3, (p), proto; ld.param.b32 %r1, [q]; }\n"
      "mad.wide.u32 %w1, %r0, 4, %w0; st.global.u32 [%w1], %r1; ret; }\n");
  const Words out = run(text, 12, 12);
  CHECK(out[10] == 55);
  CHECK(out[11] == 22);
}

TEST_CASE("two sources are linked into one program", "[ptx][link]") {
  const std::string a = ptx(
      ".extern .func (.param .b32 r) f(.param .b32 x);\n.extern .global .b32 shared_word;\n.visible .entry k(.param .u64 out) { "
      ".reg .b32 %r<4>; .reg .b64 %w;\n"
      "ld.param.u64 %w, [out]; { .param .b32 p; .param .b32 q; st.param.b32 [p], 5; call (q), f, (p); ld.param.b32 %r1, [q]; }\n"
      "ld.global.u32 %r2, [shared_word]; add.u32 %r1, %r1, %r2; st.global.u32 [%w], %r1; ret; }\n");
  const std::string b =
      ptx(".visible .global .b32 shared_word = 1000;\n.visible .func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a; ld.param.b32 "
          "%a, [x]; mul.lo.u32 %a, %a, 3; st.param.b32 [r], %a; ret; }\n");
  const std::string_view texts[] = {a, b};
  const auto program = Program::load(texts, compiler(""));
  REQUIRE(program.has_value());
  BlockMemory memory;
  const auto instance = memory.instantiate(**program);
  const std::uint64_t out = memory.allocate(4);
  CHECK(launch(*instance, memory, 0, {1}, {1}, parameters(out)).message == "");
  CHECK(download<std::uint32_t>(memory, out, 1)[0] == 1015);
}

TEST_CASE("a branch table jumps to its labels and dynamic shared memory lies behind the static", "[ptx][control]") {
  const Words out = run(kernel(kTid +
                               "and.b32 %r2, %r0, 3; ts: .branchtargets A, B, C, D; brx.idx %r2, ts; A: mov.u32 %r1, 10; bra E; B: "
                               "mov.u32 %r1, 20; bra E; C: mov.u32 %r1, 30; bra E; D: mov.u32 %r1, 40; E:\n" +
                               kStoreR1),
                        8, 8);
  CHECK(out == Words{10, 20, 30, 40, 10, 20, 30, 40});
  const Words shared =
      run(ptx(".extern .shared .align 16 .b8 dyn[];\n.visible .entry k(.param .u64 out) { .shared .b32 fixed; .reg .b32 %r<4>; "
              ".reg .b64 %w<2>; ld.param.u64 %w0, [out]; mov.u32 %r0, dyn; mov.u32 %r1, %dynamic_smem_size;\n"
              "st.shared.u32 [fixed], 5; st.shared.u32 [dyn+60], 6; ld.shared.u32 %r2, [fixed]; st.global.v4.u32 [%w0], {%r0, %r1, "
              "%r2, %r2}; ret; }\n"),
          1, 4, 1, 64);
  CHECK(shared == Words{16, 64, 5, 5});
}

TEST_CASE("generic addresses reach shared, local and parameter memory", "[ptx][memory]") {
  const Words out =
      run(kernel(".shared .b32 s[4]; .local .b32 l[4]; mov.u64 %w2, s; cvta.shared.u64 %w3, %w2; mov.u64 %w4, l; cvta.local.u64 "
                 "%w5, %w4;\n"
                 "st.u32 [%w3+4], 11; st.u32 [%w5+8], 22; ld.shared.u32 %r1, [s+4]; ld.local.u32 %r2, [l+8]; isspacep.shared %p1, "
                 "%w3; isspacep.global %p2, %w0; selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 1, 0, %p2;\n"
                 "cvta.to.shared.u64 %w6, %w3; ld.shared.u32 %r5, [%w6+4]; atom.add.u32 %r6, [%w3+4], 1; st.global.v4.u32 [%w0], "
                 "{%r1, %r2, %r3, %r4}; st.global.v2.u32 [%w0+16], {%r5, %r6};"),
          1, 6);
  CHECK(out == Words{11, 22, 1, 1, 11, 11});
}

TEST_CASE("atomics give the old value and add up over all blocks", "[ptx][atomic]") {
  const auto op = [](const std::string& text, std::uint32_t threads, std::uint32_t blocks) {
    return run(kernel("mov.u32 %r0, %tid.x;\n" + text), threads, 8, blocks);
  };
  CHECK(op("atom.global.add.u32 %r1, [%w0], 3;", 100, 10)[0] == 3000);
  CHECK(op("red.global.max.u32 [%w0], %r0;", 100, 40)[0] == 99);
  CHECK(op("atom.global.inc.u32 %r1, [%w0], 6;", 10, 1)[0] == 3);
  CHECK(op("atom.global.dec.u32 %r1, [%w0], 6;", 3, 1)[0] == 4);
  CHECK(op("atom.global.cas.b32 %r1, [%w0], %r0, 50;", 10, 1)[0] == 50);
  CHECK(op("atom.global.exch.b32 %r1, [%w0], %r0;", 10, 1)[0] == 9);
  CHECK(op("red.global.add.u64 [%w0], 5;", 64, 64)[0] == 5 * 64 * 64);
  CHECK(op("atom.global.min.s32 %r1, [%w0], -5;", 10, 1)[0] == static_cast<std::uint32_t>(-5));
  CHECK(op("red.global.or.b32 [%w0], 6; red.global.xor.b32 [%w0+4], 1; red.global.and.b32 [%w0+8], 0;", 3, 1)[1] == 1);
  CHECK(op("mov.f32 %f1, 0f3F000000; red.global.add.f32 [%w0], %f1;", 64, 4)[0] == 0x43000000);
  CHECK(op("mov.b32 %r2, 0x3c003800; red.global.add.noftz.f16x2 [%w0], %r2;", 4, 1)[0] == 0x44004000);
  CHECK(op("mov.b16 %h1, 0x3f80; red.global.add.noftz.bf16 [%w0+2], %h1;", 4, 1)[0] == 0x40800000);
}

TEST_CASE("threads of different blocks wait for each other through memory", "[ptx][spin]") {
  // A barrier over the whole grid, as cooperative groups make it: the last block to come releases the others.
  const Words out = run(kernel("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; atom.global.add.u32 %r3, [%w0], 1;\n"
                               "wait: ld.volatile.global.u32 %r4, [%w0]; setp.lt.u32 %p1, %r4, %r2; @%p1 bra wait;\nmad.wide.u32 "
                               "%w1, %r1, 4, %w0; st.global.u32 [%w1+4], %r4;"),
                        1, 9, 8);
  for (std::size_t i = 1; i < 9; ++i) CHECK(out[i] == 8);
}

TEST_CASE("a lock between threads of one block is passed on", "[ptx][spin]") {
  const Words out = run(
      kernel("again: atom.global.cas.b32 %r1, [%w0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;\n"
             "ld.global.u32 %r2, [%w0+4]; add.u32 %r2, %r2, 1; st.global.u32 [%w0+4], %r2; atom.global.exch.b32 %r3, [%w0], 0;"),
      64, 2, 3);
  CHECK(out[1] == 192);
}

TEST_CASE("mma.sync multiplies fragments as the ISA lays them out", "[ptx][matrix]") {
  // a = row index in every element, b = column index + 1, c = 0: d[row][column] = 16 * row * (column + 1).
  const auto program =
      load(kernel(kTid + "shr.u32 %r2, %r0, 2; and.b32 %r3, %r0, 3; cvt.rn.f16.u32 %h0, %r2; add.u32 %r4, %r2, 8; cvt.rn.f16.u32 "
                         "%h1, %r4; mov.b32 %r5, {%h0, %h0}; mov.b32 %r6, {%h1, %h1};\n"
                         "add.u32 %r7, %r2, 1; cvt.rn.f16.u32 %h2, %r7; mov.b32 %r8, {%h2, %h2}; mov.f32 %f0, 0f00000000;\n"
                         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r5, %r6}, {%r8, "
                         "%r8}, {%f0, %f0, %f0, %f0};\n"
                         "mad.wide.u32 %w1, %r0, 16, %w0; st.global.v4.f32 [%w1], {%f1, %f2, %f3, %f4};"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  const std::uint64_t out = memory.allocate(32 * 16);
  REQUIRE(launch(*instance, memory, 0, {1}, {32}, parameters(out)).message == "");
  const auto d = download<float>(memory, out, 128);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = lane / 4 + 8 * (i / 2);
      const std::uint32_t column = lane % 4 * 2 + i % 2;
      CHECK(d[lane * 4 + i] == static_cast<float>(16 * row * (column + 1)));
    }
  }
}

TEST_CASE("the same launch gives the same bits with one worker and with two, by tcc and by gcc", "[ptx][determinism]") {
  // A sum of floats whose order shows in its last bits.
  const std::string text =
      kernel(kTid +
             "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r0; add.u32 %r3, %r3, 1; cvt.rn.f32.u32 %f1, %r3; rcp.rn.f32 %f2, "
             "%f1; red.global.add.f32 [%w0], %f2;\n"
             "sin.approx.f32 %f3, %f1; fma.rn.f32 %f3, %f3, %f2, %f1; mad.wide.u32 %w1, %r3, 4, %w0; st.global.f32 [%w1+4], %f3;");
  std::vector<Words> results;
  for (const std::uint32_t workers : {1U, 2U}) {
    set_worker_count(workers);
    for (const std::string& compiler : compilers()) results.push_back(run(text, 64, 200 * 64 + 2, 200, 0, compiler));
  }
  set_worker_count(0);
  for (const Words& each : results) CHECK(each == results[0]);
}

}  // namespace ptx_test
