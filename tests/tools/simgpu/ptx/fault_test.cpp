// SPDX-License-Identifier: Apache-2.0
// Kernels that go wrong: each ends in the right outcome, with a message that finds the place, and never in a signal.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/tools/simgpu/ptx/ptx_support.h"
#include "tools/simgpu/ptx/runtime/pool.h"

namespace ptx_test {

using namespace cupool::simgpu::ptx;
using Kind = Outcome::Kind;

namespace {

struct Run {
  BlockMemory memory;
  std::uint64_t buffer = 0;
  Outcome outcome;
};

/// Runs a kernel of one pointer that gets a buffer of `bytes`.
std::unique_ptr<Run> run(const std::string& body, std::size_t bytes, const LaunchControl& control = {}, Dim3 block = {},
                         Dim3 grid = {}) {
  auto made = std::make_unique<Run>();
  const auto program = load(kernel(body));
  const auto instance = made->memory.instantiate(*program);
  made->buffer = made->memory.allocate(bytes);
  made->outcome = launch(*instance, made->memory, 0, grid, block, parameters(made->buffer), control);
  return made;
}

LaunchControl checked() {
  LaunchControl control;
  control.check = true;
  return control;
}

}  // namespace

TEST_CASE("an unmapped page is an illegal address, with the place in the message", "[ptx][fault]") {
  const auto made = run("mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 3;\n@%p1 st.global.u32 [%w0+8192], %r0;", 4096, {}, {8}, {2});
  CHECK(made->outcome.kind == Kind::illegal_address);
  CHECK(made->outcome.address == made->buffer + 8192);
  CHECK(made->outcome.thread[0] == 3);
  CHECK(made->outcome.block[0] == 0);
  CHECK(made->outcome.line == 8);
  CHECK_THAT(made->outcome.message,
             Catch::Matchers::Contains("kernel 'k': ptx line 8 (@%p1 st.global.u32 [%w0+8192], %r0;): illegal write of 4 bytes"));
}

TEST_CASE("null, wild and window addresses are illegal", "[ptx][fault]") {
  for (const std::string address : {"0", "0x10", "0xdeadbeef000", "0x7fffffffffff0000", "0x0100000000000000", "0x0200000000000000",
                                    "0x0500000000000000", "0xfffffffffffffff0"}) {
    INFO(address);
    CHECK(run("mov.u64 %w1, " + address + "; ld.u32 %r1, [%w1];", 64)->outcome.kind == Kind::illegal_address);
    CHECK(run("mov.u64 %w1, " + address + "; st.u32 [%w1], 1;", 64)->outcome.kind == Kind::illegal_address);
    CHECK(run("mov.u64 %w1, " + address + "; atom.add.u32 %r1, [%w1], 1;", 64)->outcome.kind == Kind::illegal_address);
  }
}

TEST_CASE("a misaligned access is told from an illegal one", "[ptx][fault]") {
  CHECK(run("ld.global.u32 %r1, [%w0+2];", 64)->outcome.kind == Kind::misaligned);
  CHECK(run("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%w0+8];", 64)->outcome.kind == Kind::misaligned);
  CHECK(run(".shared .align 8 .b8 s[16]; mov.u32 %r1, s; st.shared.u32 [%r1+1], 0;", 64)->outcome.kind == Kind::misaligned);
  CHECK(run("red.global.add.u64 [%w0+4], 1;", 64)->outcome.kind == Kind::misaligned);
}

TEST_CASE("shared, local and parameter memory end where they end", "[ptx][fault]") {
  CHECK(run(".shared .b32 s[9]; mov.u32 %r1, s; st.shared.u32 [%r1+32], 1;", 64)->outcome.kind == Kind::ok);
  CHECK(run(".shared .b32 s[9]; mov.u32 %r1, s; st.shared.u32 [%r1+36], 1;", 64)->outcome.kind == Kind::illegal_address);
  CHECK(run(".shared .b32 s[9]; mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+-4];", 64)->outcome.kind == Kind::illegal_address);
  CHECK(run(".local .b32 l[8]; mov.u64 %w1, l; ld.local.u32 %r2, [%w1+32];", 64)->outcome.kind == Kind::illegal_address);
  CHECK(run("mov.u64 %w1, out; ld.param.u32 %r1, [%w1+8];", 64)->outcome.kind == Kind::illegal_address);
}

TEST_CASE("a constant cannot be written through a global address", "[ptx][fault]") {
  const auto program = load(
      ptx(".const .b32 c = 5;\n.visible .entry k(.param .u64 out) { .reg .b64 %w; mov.u64 %w, c; st.global.u32 [%w], 1; ret; }"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  CHECK(launch(*instance, memory, 0, {1}, {1}, parameters(std::uint64_t{0})).kind == Kind::illegal_address);
}

TEST_CASE("the check finds what lies beyond a block though its page is mapped, and names the neighbour", "[ptx][check]") {
  const std::string body = "st.global.u32 [%w0+100], 1;";
  CHECK(run(body, 100)->outcome.kind == Kind::ok);
  const auto made = run(body, 100, checked());
  CHECK(made->outcome.kind == Kind::illegal_address);
  CHECK_THAT(made->outcome.message, Catch::Matchers::Contains("ptx line 7 (st.global.u32 [%w0+100], 1;)"));
  CHECK_THAT(made->outcome.message, Catch::Matchers::Contains("0 bytes past the end of block 0x200000000000 (100 bytes)"));
  CHECK(run("st.global.u32 [%w0+96], 1;", 100, checked())->outcome.kind == Kind::ok);
}

TEST_CASE("the check finds a use after free", "[ptx][check]") {
  const auto program = load(kernel("ld.global.u32 %r1, [%w0];"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  const std::uint64_t block = memory.allocate(64);
  memory.release(block, true);
  CHECK(launch(*instance, memory, 0, {1}, {1}, parameters(block)).kind == Kind::ok);
  const Outcome outcome = launch(*instance, memory, 0, {1}, {1}, parameters(block), checked());
  CHECK(outcome.kind == Kind::illegal_address);
  CHECK_THAT(outcome.message, Catch::Matchers::Contains("inside of freed block"));
}

TEST_CASE("the check is as good in kernels that wait", "[ptx][check]") {
  const std::string body = "bar.sync 0; mov.u32 %r0, %tid.x; mad.wide.u32 %w1, %r0, 4, %w0; st.global.u32 [%w1], %r0;";
  const auto made = run(body, 39 * 4, checked(), {40});
  CHECK(made->outcome.kind == Kind::illegal_address);
  CHECK(made->outcome.thread[0] == 39);
  CHECK(run(".shared .b32 s[9]; bar.sync 0; mov.u32 %r1, s; st.shared.u32 [%r1+36], 1;", 64, checked())->outcome.kind ==
        Kind::illegal_address);
}

TEST_CASE("trap and assert end the launch", "[ptx][fault]") {
  CHECK(run("trap;", 64)->outcome.kind == Kind::trap);
  const auto program = load(ptx(
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
      ".global .align 1 .b8 m[6] = {120, 62, 48, 0};\n.global .align 1 .b8 f[5] = {97, 46, 99, 117, 0};\n"
      ".visible .entry k(.param .u64 out) { .reg .b64 %w<3>; mov.u64 %w1, m; mov.u64 %w2, f;\n"
      "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %w1; st.param.b64 [b], %w2; "
      "st.param.b32 [c], 12; st.param.b64 [d], %w2; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); } ret; }"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  const Outcome outcome = launch(*instance, memory, 0, {1}, {1}, parameters(std::uint64_t{0}));
  CHECK(outcome.kind == Kind::assert_failed);
  CHECK_THAT(outcome.message, Catch::Matchers::Contains("a.cu:12: a.cu: assertion `x>0` failed"));
}

TEST_CASE("an endless kernel stops when asked, and at its limit", "[ptx][stop]") {
  for (const std::string body :
       {"again: add.u32 %r1, %r1, 1; bra again;", "again: bar.sync 0; bra again;",
        "again: ld.volatile.global.u32 %r1, [%w0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;", "bar.sync 0; again: bra again;"}) {
    INFO(body);
    LaunchControl limited;
    limited.limit = std::chrono::milliseconds(30);
    CHECK(run(body, 64, limited, {64}, {100})->outcome.kind == Kind::timeout);
    std::atomic<bool> stop{false};
    LaunchControl stoppable;
    stoppable.stop = &stop;
    std::thread stopper([&] { stop.store(true); });
    CHECK(run(body, 64, stoppable, {64}, {100})->outcome.kind == Kind::stopped);
    stopper.join();
  }
}

TEST_CASE("threads that wait for each other for ever are found", "[ptx][stop]") {
  const auto made =
      run("mov.u32 %r0, %tid.x; setp.lt.u32 %p1, %r0, 5; @%p1 bra other; bar.sync 1; bra end; other: bar.sync 2, 64; end:", 64, {},
          {40});
  CHECK(made->outcome.kind == Kind::deadlock);
  CHECK_THAT(made->outcome.message, Catch::Matchers::Contains("bar.sync"));
}

TEST_CASE("the first block that faults is reported, whatever the number of workers", "[ptx][fault]") {
  const std::string body = "mov.u32 %r0, %ctaid.x; setp.lt.u32 %p1, %r0, 100; @%p1 bra end; st.global.u32 [%w0+8192], %r0; end:";
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    set_worker_count(workers);
    CHECK(run(body, 64, {}, {64}, {400})->outcome.block[0] == 100);
  }
  set_worker_count(0);
}

TEST_CASE("a launch that does not fit the kernel runs nothing", "[ptx][fault]") {
  CHECK(run("ret;", 64, {}, {2048})->outcome.kind == Kind::invalid_launch);
  CHECK(run("ret;", 64, {}, {0})->outcome.kind == Kind::invalid_launch);
  const auto program = load(kernel("ret;"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  CHECK(launch(*instance, memory, 0, {1}, {1}, {}).kind == Kind::invalid_launch);
  CHECK(launch(*instance, memory, 7, {1}, {1}, {}).kind == Kind::invalid_launch);
}

TEST_CASE("printf formats as C does", "[ptx][print]") {
  const auto program = load(
      ptx(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 f[20] = {37, 100, 124, 37, "
          "54, 46, 50, 102, 124, 37, 108, 120, 124, 37, 37, 10, 0};\n"
          ".visible .entry k(.param .u64 out) { .local .align 8 .b8 depot[24]; .reg .b64 %w<6>; .reg .b32 %r<3>; .reg .f64 %d; "
          "mov.u64 %w1, depot; cvta.local.u64 %w2, %w1; mov.u64 %w3, f; cvta.global.u64 %w3, %w3;\n"
          "st.u32 [%w2], -7; mov.f64 %d, 0d400921FB54442D18; st.f64 [%w2+8], %d; mov.u64 %w4, 0x1234567890; st.u64 [%w2+16], %w4;\n"
          "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %w3; st.param.b64 [b], %w2; call.uni (r), vprintf, (a, "
          "b); ld.param.b32 %r1, [r]; } ret; }"));
  BlockMemory memory;
  const auto instance = memory.instantiate(*program);
  std::string printed;
  LaunchControl control;
  control.print = [&](std::string_view text) { printed.append(text); };
  CHECK(launch(*instance, memory, 0, {1}, {1}, parameters(std::uint64_t{0}), control).message == "");
  CHECK(printed == "-7|  3.14|1234567890|%\n");
}

}  // namespace ptx_test
