// SPDX-License-Identifier: Apache-2.0
// What a launch costs, and how compilers compare on a kernel that computes. Prints Google Benchmark's JSON.
#include <benchmark/benchmark.h>

#include <cstring>

#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/tool/block_memory.h"
#include "tools/simgpu/ptx/translate/translate.h"

namespace {

using namespace cupool::simgpu::ptx;

const char* const kAdd =
    ".version 8.5\n.target sm_80\n.visible .entry add(.param .u64 o, .param .u64 a, .param .u32 n) {\n"
    ".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %w<6>; .reg .f32 %f<4>;\nld.param.u64 %w0, [o]; ld.param.u64 %w1, [a]; ld.param.u32 "
    "%r0, [n];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %p, %r4, %r0; "
    "@%p ret;\n"
    "mad.wide.u32 %w2, %r4, 4, %w1; mad.wide.u32 %w3, %r4, 4, %w0; ld.global.f32 %f0, [%w2]; fma.rn.f32 %f1, %f0, %f0, %f0; "
    "st.global.f32 [%w3], %f1; ret; }\n";

const char* const kBarrier =
    ".version 8.5\n.target sm_80\n.visible .entry sum(.param .u64 o) {\n.shared .b32 s[256]; .reg .pred %p; .reg .b32 %r<8>; .reg "
    ".b64 %w<2>;\n"
    "ld.param.u64 %w0, [o]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0; mov.u32 "
    "%r3, 128;\n"
    "again: bar.sync 0; setp.ge.u32 %p, %r0, %r3; @%p bra skip; mad.lo.u32 %r4, %r3, 4, %r2; ld.shared.u32 %r5, [%r4]; "
    "ld.shared.u32 %r6, [%r2]; add.u32 %r6, %r6, %r5; st.shared.u32 [%r2], %r6;\n"
    "skip: shr.u32 %r3, %r3, 1; setp.ne.u32 %p, %r3, 0; @%p bra again; setp.ne.u32 %p, %r0, 0; @%p ret; ld.shared.u32 %r5, [s]; "
    "st.global.u32 [%w0], %r5; ret; }\n";

class NamedCompiler final : public Compiler {
 public:
  explicit NamedCompiler(const char* name) : name_(name) {}
  Compiled compile(const CompileRequest& request) override { return local_.compile({request.source, request.backend, name_}); }
  bool has_optimised() const override { return false; }

 private:
  LocalCompiler local_;
  const char* name_;
};

void launches(benchmark::State& state, const char* text, const char* compiler_name, std::uint32_t blocks, std::uint32_t threads,
              std::uint32_t count) {
  auto* compiler = new NamedCompiler(compiler_name);
  const std::string_view view = text;
  const auto program = Program::load({&view, 1}, *compiler);
  if (!program) return state.SkipWithError(program.error().log.c_str());
  BlockMemory memory;
  const auto instance = memory.instantiate(**program);
  struct {
    std::uint64_t out, in;
    std::uint32_t count;
  } parameters{memory.allocate(std::size_t{count} * 4), memory.allocate(std::size_t{count} * 4), count};
  Launch launch;
  launch.grid.x = blocks;
  launch.block.x = threads;
  launch.parameters = {reinterpret_cast<const std::byte*>(&parameters), sizeof parameters};
  for (auto each : state) {
    (void)each;
    if (instance->launch(launch, memory, {}).kind != Outcome::Kind::ok) return state.SkipWithError("the kernel failed");
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{blocks} * threads);
}

void translation(benchmark::State& state) {
  const std::string_view view = kBarrier;
  for (auto each : state) {
    (void)each;
    benchmark::DoNotOptimize(translate({&view, 1}));
  }
}

}  // namespace

BENCHMARK_CAPTURE(launches, small_tcc, kAdd, "tcc", 1, 32, 32);
BENCHMARK_CAPTURE(launches, million_threads_tcc, kAdd, "tcc", 4096, 256, 1 << 20);
BENCHMARK_CAPTURE(launches, million_threads_gcc, kAdd, "gcc", 4096, 256, 1 << 20);
BENCHMARK_CAPTURE(launches, barriers_tcc, kBarrier, "tcc", 16, 256, 256);
BENCHMARK_CAPTURE(launches, barriers_gcc, kBarrier, "gcc", 16, 256, 256);
BENCHMARK(translation);

BENCHMARK_MAIN();
