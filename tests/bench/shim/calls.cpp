// SPDX-License-Identifier: Apache-2.0
//
// Times a program's own calls: calls pairs|attach. Run bare and preloaded by calls.py. Prints nanoseconds per call.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "shim/abi/driver_api.h"

namespace {

using Clock = std::chrono::steady_clock;

template <class Function>
Function* resolve(Function&, const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}
#define RESOLVE(name) const auto name = resolve(::name, #name)

/// The median of several rounds of `calls` calls, in nanoseconds per call.
template <class Body>
double median_ns(int calls, const Body& body) {
  std::vector<double> rounds;
  for (int round = 0; round < 9; ++round) {
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) body();
    rounds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

double pairs() {
  RESOLVE(cuInit);
  RESOLVE(cuDevicePrimaryCtxRetain);
  RESOLVE(cuCtxSetCurrent);
  RESOLVE(cuMemAlloc_v2);
  RESOLVE(cuMemFree_v2);
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  CUdeviceptr kept = 0, block = 0;
  cuMemAlloc_v2(&kept, 1 << 20);  // what the first call sets up is not the subject
  return median_ns(4000, [&] {
    cuMemAlloc_v2(&block, 1 << 20);
    cuMemFree_v2(block);
  });
}

double attach() {
  const auto start = Clock::now();
  RESOLVE(cuInit);
  RESOLVE(cuDeviceGetCount);
  int count = 0;
  cuInit(0);
  cuDeviceGetCount(&count);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const double ns = std::strcmp(argv[1], "pairs") == 0 ? pairs() : attach();
  std::printf("%.1f\n", ns);
}
