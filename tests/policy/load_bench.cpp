// SPDX-License-Identifier: Apache-2.0
//
// What loading a policy costs: load_bench FILE [benchmark options]. The budget for lab.json is one millisecond, read and validated.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "policy/encode.h"
#include "policy/load.h"
#include "policy/resolve.h"

namespace {

using namespace cupool;
using namespace cupool::policy;

std::string g_text;

void load_and_validate(benchmark::State& state) {
  for (auto _ : state) {
    Loaded loaded = load(g_text);
    benchmark::DoNotOptimize(loaded.policy);
  }
}

void resolve_on_a_device(benchmark::State& state) {
  const Policy policy = *load(g_text).policy;
  const DeviceFacts device{"GPU-0", 0, Bytes{141 * kGiB.count}};
  for (auto _ : state) benchmark::DoNotOptimize(resolve(policy, device, {64}));
}

/// The largest document that is read at all, every value of it wrong.
void refuse_the_worst(benchmark::State& state) {
  std::string text = R"({"version": 1, "jobs": [)";
  while (text.size() < (std::size_t{1} << 20) - 200)
    text += R"({"mtach": {}, "calss": "   an unknown class with a long name   ", "limti": "60GB", "match": {"usr": "ana"}},)"
            "\n" +
            std::string(400, ' ');
  text += "{}]}";
  for (auto _ : state) {
    const Loaded loaded = load(text);
    benchmark::DoNotOptimize(render(loaded.problems, "policy.json", text));
  }
}

BENCHMARK(load_and_validate)->Unit(benchmark::kMicrosecond);
BENCHMARK(resolve_on_a_device)->Unit(benchmark::kMicrosecond);
BENCHMARK(refuse_the_worst)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  g_text.assign(std::istreambuf_iterator<char>(file), {});
  if (!load(g_text).policy) {
    std::fprintf(stderr, "SKIPPED: %s is no valid policy\n", argc > 1 ? argv[1] : "no file");
    return 77;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
