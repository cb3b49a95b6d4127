// SPDX-License-Identifier: Apache-2.0
//
// What calls of the simulated driver cost the program: launches, small copies, events, graphs, allocations. Prints Google
// Benchmark's JSON. Bars of the simulator: a null launch at most 2 us, an allocation with its free at most 60 us.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "shim/abi/driver_api.h"

namespace {

constexpr const char* kNothing = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

void require(CUresult code) {
  if (code != CUDA_SUCCESS) std::abort();
}

/// A context, a stream and a kernel that does nothing; one for the whole program.
struct Machine {
  Machine() {
    std::string name = (std::filesystem::temp_directory_path() / "simgpu-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder = name;
    setenv("SIMGPU_DIR", name.c_str(), 1);
    require(cuInit(0));
    require(cuCtxCreate_v2(&context, 0, 0));
    require(cuModuleLoadData(&module, kNothing));
    require(cuModuleGetFunction(&nothing, module, "nothing"));
    require(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    require(cuMemAlloc_v2(&memory, 1 << 20));
  }
  void launch() const { require(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr)); }
  void wait() const { require(cuStreamSynchronize(stream)); }

  std::string folder;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction nothing = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
};

Machine& machine() {
  static Machine* const made = new Machine;
  return *made;
}

void null_launch(benchmark::State& state) {
  for (auto _ : state) machine().launch();
  machine().wait();
}
BENCHMARK(null_launch)->Iterations(20000);

void null_launch_and_wait(benchmark::State& state) {
  for (auto _ : state) {
    machine().launch();
    machine().wait();
  }
}
BENCHMARK(null_launch_and_wait);

void copy_64_bytes_to_device(benchmark::State& state) {
  const char bytes[64] = {};
  for (auto _ : state) require(cuMemcpyHtoD_v2(machine().memory, bytes, sizeof bytes));
}
BENCHMARK(copy_64_bytes_to_device);

void copy_64_bytes_to_host(benchmark::State& state) {
  char bytes[64];
  for (auto _ : state) require(cuMemcpyDtoH_v2(bytes, machine().memory, sizeof bytes));
}
BENCHMARK(copy_64_bytes_to_host);

void record_and_query_event(benchmark::State& state) {
  CUevent event = nullptr;
  require(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (auto _ : state) {
    require(cuEventRecord(event, machine().stream));
    benchmark::DoNotOptimize(cuEventQuery(event));
  }
  require(cuEventDestroy_v2(event));
}
BENCHMARK(record_and_query_event);

void graph_of_20_null_kernels(benchmark::State& state) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  require(cuStreamBeginCapture_v2(machine().stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 20; ++i) machine().launch();
  require(cuStreamEndCapture(machine().stream, &graph));
  require(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (auto _ : state) {
    require(cuGraphLaunch(exec, machine().stream));
    machine().wait();
  }
  require(cuGraphExecDestroy(exec));
  require(cuGraphDestroy(graph));
}
BENCHMARK(graph_of_20_null_kernels);

void alloc_and_free(benchmark::State& state) {
  for (auto _ : state) {
    CUdeviceptr memory = 0;
    require(cuMemAlloc_v2(&memory, static_cast<std::size_t>(state.range(0))));
    require(cuMemFree_v2(memory));
  }
}
BENCHMARK(alloc_and_free)->Arg(4096)->Arg(4 << 20);

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  std::error_code ignored;
  std::filesystem::remove_all(machine().folder, ignored);
}
