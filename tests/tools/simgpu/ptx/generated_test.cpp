// SPDX-License-Identifier: Apache-2.0
// Random CUDA programs: NVRTC makes PTX of them for simgpu, the host's compiler makes plain loops of the same text; results must be
// equal.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

#include "tests/tools/simgpu/ptx/generated_program.h"
#include "tests/tools/simgpu/ptx/nvrtc.h"
#include "tests/tools/simgpu/ptx/ptx_support.h"
#include "tools/simgpu/ptx/runtime/pool.h"

namespace ptx_test {
namespace {

using namespace cupool::simgpu::ptx;

constexpr std::size_t kBatch = 25;
constexpr std::uint32_t kBlocks = 3;

/// CUPOOL_PTX_SEED=N looks at one batch that begins with this seed.
std::uint64_t first_seed() {
  const char* given = std::getenv("CUPOOL_PTX_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

std::size_t program_count() {
  if (std::getenv("CUPOOL_PTX_SEED") != nullptr) return kBatch;
  return std::getenv("CUPOOL_TEST_LONG") != nullptr ? 5000 : 500;
}

using HostProgram = void (*)(const unsigned*, unsigned*, unsigned*, unsigned);

std::string directory() {
  const char* given = std::getenv("SIMGPU_CACHE_DIR");
  const std::string path = std::string(given != nullptr ? given : "/tmp") + "/generated";
  REQUIRE(std::system(("mkdir -p '" + path + "'").c_str()) == 0);
  return path;
}

/// The batch's loops as a shared library; stays loaded.
void* compile_host(const std::string& text, std::uint64_t number) {
  const std::string base = directory() + "/batch" + std::to_string(number);
  std::ofstream(base + ".cpp") << text;
  const std::string command = "g++ -O0 -w -shared -fPIC -fwrapv -ffp-contract=off -o '" + base + ".so' '" + base + ".cpp'";
  REQUIRE(std::system(command.c_str()) == 0);
  void* handle = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  return handle;
}

struct Results {
  std::vector<unsigned> out;
  std::vector<unsigned> sums;
  bool operator==(const Results&) const = default;
};

Results run_device(const Program& program, std::uint32_t kernel, const std::vector<unsigned>& input) {
  BlockMemory memory;
  const auto instance = memory.instantiate(program);
  const std::uint64_t in = upload(memory, input);
  const std::uint64_t out = memory.allocate(kBlocks * kGeneratedBlock * kGeneratedOutputs * 4);
  const std::uint64_t sums = memory.allocate(32 * 4);
  const Outcome outcome = launch(*instance, memory, kernel, {kBlocks}, {kGeneratedBlock}, parameters(in, out, sums));
  REQUIRE(outcome.message == "");
  return {download<unsigned>(memory, out, kBlocks * kGeneratedBlock * kGeneratedOutputs), download<unsigned>(memory, sums, 32)};
}

Results run_host(void* library, const std::string& name, const std::vector<unsigned>& input) {
  const auto function = reinterpret_cast<HostProgram>(dlsym(library, name.c_str()));
  REQUIRE(function != nullptr);
  Results results{std::vector<unsigned>(kBlocks * kGeneratedBlock * kGeneratedOutputs), std::vector<unsigned>(32)};
  function(input.data(), results.out.data(), results.sums.data(), kBlocks);
  return results;
}

/// Where two results differ first; empty if nowhere.
std::string difference(const Results& got, const Results& expected) {
  for (std::size_t i = 0; i < got.out.size(); ++i) {
    if (got.out[i] == expected.out[i]) continue;
    return "thread " + std::to_string(i / kGeneratedOutputs) + ", word " + std::to_string(i % kGeneratedOutputs) + ": " +
           std::to_string(got.out[i]) + ", not " + std::to_string(expected.out[i]);
  }
  for (std::size_t i = 0; i < got.sums.size(); ++i) {
    if (got.sums[i] != expected.sums[i]) return "sum " + std::to_string(i);
  }
  return {};
}

}  // namespace

TEST_CASE("random CUDA programs give what plain loops give", "[ptx][generated]") {
  if (!Nvrtc::available()) {
    std::cout << "SKIPPED: libnvrtc.so is not installed, so no CUDA program can be compiled to PTX\n";
    std::exit(77);
  }
  const std::size_t count = program_count();
  const std::uint64_t seed = first_seed();
  std::cout << count << " programs, seeds " << seed << " to " << seed + count - 1 << "\n";
  for (std::size_t first = 0; first < count; first += kBatch) {
    std::string device = device_preamble();
    std::string host = host_preamble();
    for (std::size_t i = first; i < first + kBatch; ++i) {
      const GeneratedProgram program = generate_program(seed + i, std::to_string(seed + i));
      device += program.device;
      host += program.host;
    }
    const std::string text = Nvrtc::compile(device, {"--gpu-architecture=compute_80", "--fmad=false", "-w"});
    void* library = compile_host(host, seed + first);
    const auto program = load(text, "");
    const bool compare_compilers = first / kBatch % 5 == 0 && compilers().size() > 1;
    const auto optimised = compare_compilers ? load(text, "gcc") : nullptr;
    for (std::size_t i = first; i < first + kBatch; ++i) {
      const std::string name = "g" + std::to_string(seed + i);
      INFO("seed " << seed + i);
      std::mt19937 random(static_cast<unsigned>(seed + i));
      std::vector<unsigned> input(kBlocks * kGeneratedBlock * kGeneratedInputs);
      for (unsigned& word : input) word = random();
      const auto kernel = static_cast<std::uint32_t>(program->find_kernel(name));
      const Results got = run_device(*program, kernel, input);
      const Results expected = run_host(library, name, input);
      CHECK(difference(got, expected) == "");
      if (optimised != nullptr) CHECK(difference(run_device(*optimised, kernel, input), got) == "");
    }
    dlclose(library);
  }
}

}  // namespace ptx_test
