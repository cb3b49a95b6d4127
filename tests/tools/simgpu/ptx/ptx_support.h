// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/tool/block_memory.h"

namespace ptx_test {

/// The C compilers of this machine by which results are compared: "tcc" and "gcc", as far as they are installed.
std::vector<std::string> compilers();

/// One compiler whatever the program asks for. Objects go to a cache of the test's own.
class OneCompiler final : public cupool::simgpu::ptx::Compiler {
 public:
  explicit OneCompiler(std::string name) : name_(std::move(name)) {}
  cupool::simgpu::ptx::Compiled compile(const cupool::simgpu::ptx::CompileRequest& request) override;
  bool has_optimised() const override { return false; }

 private:
  std::string name_;
};

/// That compiler. Lives as long as the process, since programs keep a reference.
cupool::simgpu::ptx::Compiler& compiler(const std::string& name);

/// Loads a text with that compiler ("" takes the quick one); fails the test with the log when it cannot be loaded.
std::shared_ptr<cupool::simgpu::ptx::Program> load(const std::string& text, const std::string& compiler = "");

/// The log of a text that must not load.
cupool::simgpu::ptx::LoadFailure load_failure(const std::string& text);

/// A parameter buffer of values at their natural alignment.
template <class... Values>
std::vector<std::byte> parameters(const Values&... values) {
  std::vector<std::byte> buffer;
  const auto add = [&](const auto& value) {
    buffer.resize((buffer.size() + sizeof value - 1) / sizeof value * sizeof value);
    buffer.resize(buffer.size() + sizeof value);
    std::memcpy(buffer.data() + buffer.size() - sizeof value, &value, sizeof value);
  };
  (add(values), ...);
  return buffer;
}

cupool::simgpu::ptx::Outcome launch(cupool::simgpu::ptx::Instance& instance, cupool::simgpu::ptx::Memory& memory,
                                    std::uint32_t kernel, cupool::simgpu::ptx::Dim3 grid, cupool::simgpu::ptx::Dim3 block,
                                    const std::vector<std::byte>& buffer, const cupool::simgpu::ptx::LaunchControl& control = {},
                                    std::uint32_t dynamic_shared = 0);

/// A device buffer with these values in it.
template <class T>
std::uint64_t upload(cupool::simgpu::ptx::BlockMemory& memory, const std::vector<T>& values) {
  const std::uint64_t address = memory.allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(memory.host(address), values.data(), values.size() * sizeof(T));
  return address;
}

template <class T>
std::vector<T> download(cupool::simgpu::ptx::BlockMemory& memory, std::uint64_t address, std::size_t count) {
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), memory.host(address), count * sizeof(T));
  return values;
}

/// `.version`, `.target` and the given text.
std::string ptx(const std::string& body);

/// A kernel that takes one pointer, with registers declared and the pointer in %w0.
std::string kernel(const std::string& body);

}  // namespace ptx_test
