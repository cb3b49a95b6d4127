// SPDX-License-Identifier: Apache-2.0
// simgpu-ptx FILE: reads PTX, shows what simgpu makes of it, runs a kernel.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tools/simgpu/ptx/tool/arguments.h"
#include "tools/simgpu/ptx/tool/block_memory.h"
#include "tools/simgpu/ptx/translate/translate.h"

namespace cupool::simgpu::ptx {
namespace {

struct Options {
  std::vector<std::string> files;
  bool print_c = false;
  bool list = false;
  std::string kernel;
  std::vector<std::uint32_t> grid{1};
  std::vector<std::uint32_t> block{1};
  std::uint32_t shared = 0;
  std::vector<std::string> arguments;
  bool check = false;
  std::uint32_t limit_ms = 0;
};

Dim3 dimensions(const std::vector<std::uint32_t>& given) {
  Dim3 size;
  if (!given.empty()) size.x = given[0];
  if (given.size() > 1) size.y = given[1];
  if (given.size() > 2) size.z = given[2];
  return size;
}

void list_kernels(const Program& program) {
  for (const KernelInfo& kernel : program.kernels()) {
    std::printf("kernel %s: %u bytes of parameters, %u shared, %u local, %u registers, at most %u threads\n", kernel.name.c_str(),
                kernel.parameter_bytes, kernel.shared_bytes, kernel.local_bytes, kernel.registers, kernel.max_threads);
    for (const Parameter& parameter : kernel.parameters) {
      std::printf("  %s: offset %u, size %u, alignment %u\n", parameter.name.c_str(), parameter.offset, parameter.size,
                  parameter.alignment);
    }
  }
  for (const GlobalInfo& global : program.globals()) {
    std::printf("%s %s: %llu bytes, alignment %u\n", global.constant ? "const" : "global", global.name.c_str(),
                static_cast<unsigned long long>(global.size), global.alignment);
  }
}

int run(const Options& options, const Program& program) {
  const int kernel = program.find_kernel(options.kernel);
  if (kernel < 0) {
    std::fprintf(stderr, "simgpu-ptx: no kernel is called %s (--list shows them)\n", options.kernel.c_str());
    return 1;
  }
  BlockMemory memory;
  auto arguments = make_arguments(options.arguments, program.kernels()[static_cast<std::size_t>(kernel)], memory);
  if (!arguments) {
    std::fprintf(stderr, "simgpu-ptx: %s\n", arguments.error().c_str());
    return 2;
  }
  const auto instance = memory.instantiate(program);
  Launch launch;
  launch.kernel = static_cast<std::uint32_t>(kernel);
  launch.grid = dimensions(options.grid);
  launch.block = dimensions(options.block);
  launch.dynamic_shared_bytes = options.shared;
  launch.parameters = arguments->buffer;
  LaunchControl control;
  control.check = options.check;
  control.limit = std::chrono::milliseconds(options.limit_ms);
  control.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  const Outcome outcome = instance->launch(launch, memory, control);
  if (outcome.kind != Outcome::Kind::ok) {
    std::fprintf(stderr, "simgpu-ptx: %s\n", outcome.message.c_str());
    return 1;
  }
  print_arguments(*arguments, memory);
  return 0;
}

int main_with(const Options& options) {
  std::vector<std::string> texts;
  for (const std::string& file : options.files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "simgpu-ptx: cannot read %s\n", file.c_str());
      return 1;
    }
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  if (options.print_c) {
    const auto translation = translate(views);
    if (!translation) {
      std::fprintf(stderr, "simgpu-ptx: %s\n", translation.error().log.c_str());
      return 1;
    }
    std::fputs(translation->source.c_str(), stdout);
    return 0;
  }
  LocalCompiler compiler;
  const auto program = Program::load(views, compiler);
  if (!program) {
    std::fprintf(stderr, "simgpu-ptx: %s\n", program.error().log.c_str());
    return 1;
  }
  if (options.list || options.kernel.empty()) list_kernels(**program);
  return options.kernel.empty() ? 0 : run(options, **program);
}

}  // namespace
}  // namespace cupool::simgpu::ptx

int main(int argc, char** argv) {
  cupool::simgpu::ptx::Options options;
  CLI::App app{
      "Reads PTX as simgpu does: lists kernels, prints the C they become, runs one.\n"
      "Arguments of a kernel, in order: u32:7, s64:-1, f32:1.5, or a buffer TYPE[COUNT]=FILL, printed after the run:\n"
      "  f32[8]=0  f32[8]=iota  f32[4]=1,2,3,4",
      "simgpu-ptx"};
  app.add_option("file", options.files, "PTX texts that make one program")->required();
  app.add_flag("--c", options.print_c, "print the C and stop");
  app.add_flag("--list", options.list, "list kernels and globals");
  app.add_option("--run", options.kernel, "run this kernel");
  app.add_option("--grid", options.grid, "blocks: X[,Y[,Z]]")->delimiter(',');
  app.add_option("--block", options.block, "threads in a block: X[,Y[,Z]]")->delimiter(',');
  app.add_option("--shared", options.shared, "bytes of dynamic shared memory");
  app.add_option("--arg", options.arguments, "one argument of the kernel; may be given more than once")->expected(1)->take_all();
  app.add_flag("--check", options.check, "check every access against live blocks");
  app.add_option("--limit", options.limit_ms, "stop the kernel after so many milliseconds");
  CLI11_PARSE(app, argc, argv);
  return cupool::simgpu::ptx::main_with(options);
}
