// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/ptx/ptx_support.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

namespace ptx_test {

using namespace cupool::simgpu::ptx;

namespace {

LocalCompiler& local() {
  static LocalCompiler* const made = new LocalCompiler;
  return *made;
}

bool is_installed(const std::string& name) {
  return access(("/usr/bin/" + name).c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> compilers() {
  std::vector<std::string> found;
  for (const char* name : {"tcc", "gcc"}) {
    if (is_installed(name)) found.emplace_back(name);
  }
  return found;
}

Compiled OneCompiler::compile(const CompileRequest& request) {
  return local().compile({.source = request.source, .backend = request.backend, .preference = name_});
}

Compiler& compiler(const std::string& name) {
  static auto* const made = new std::map<std::string, std::unique_ptr<OneCompiler>>;
  std::unique_ptr<OneCompiler>& one = (*made)[name];
  if (!one) one = std::make_unique<OneCompiler>(name);
  return *one;
}

std::shared_ptr<Program> load(const std::string& text, const std::string& name) {
  const std::string_view view = text;
  auto program = Program::load({&view, 1}, compiler(name));
  INFO(text.substr(0, 4000));
  if (!program) FAIL("does not load: " << program.error().log);
  return *program;
}

LoadFailure load_failure(const std::string& text) {
  const std::string_view view = text;
  auto program = Program::load({&view, 1}, local());
  REQUIRE_FALSE(program.has_value());
  return program.error();
}

Outcome launch(Instance& instance, Memory& memory, std::uint32_t kernel, Dim3 grid, Dim3 block,
               const std::vector<std::byte>& buffer, const LaunchControl& control, std::uint32_t dynamic_shared) {
  return instance.launch(Launch{kernel, grid, block, dynamic_shared, buffer}, memory, control);
}

std::string ptx(const std::string& body) {
  return ".version 8.5\n.target sm_80\n.address_size 64\n" + body;
}

std::string kernel(const std::string& body) {
  return ptx(
      ".visible .entry k(.param .u64 out) {\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %w<16>; .reg .f32 "
      "%f<16>;\n" +
      std::string("ld.param.u64 %w0, [out];\n") + body + "\nret;\n}\n");
}

}  // namespace ptx_test
