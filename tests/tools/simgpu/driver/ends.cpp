// SPDX-License-Identifier: Apache-2.0
//
// A program that ends in one of several ways while the simulated GPU is busy; ends_test.py watches that it does end, and how.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "shim/abi/driver_api.h"

namespace {

constexpr const char* kEndless = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry spin()
{
LOOP:
  bra LOOP;
}
)";

void require(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s gives %d\n", what, static_cast<int>(code));
  std::_Exit(3);
}

// One stream waits for ever, one computes for ever.
void make_busy() {
  CUcontext context = nullptr;
  CUstream waiting = nullptr;
  CUstream computing = nullptr;
  CUdeviceptr word = 0;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  require(cuInit(0), "cuInit");
  require(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
  require(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  require(cuStreamCreate(&computing, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  require(cuMemAlloc_v2(&word, 4), "cuMemAlloc");
  require(cuMemsetD32_v2(word, 0, 1), "cuMemset");
  require(cuStreamWaitValue32_v2(waiting, word, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32");
  require(cuModuleLoadData(&module, kEndless), "cuModuleLoadData");
  require(cuModuleGetFunction(&spin, module, "spin"), "cuModuleGetFunction");
  require(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, computing, nullptr, nullptr), "cuLaunchKernel");
  require(cuLaunchHostFunc(
              waiting, [](void*) {}, nullptr),
          "cuLaunchHostFunc");
}

// A static destructor that still calls the driver must come back; whether the driver still serves it depends on who ends first.
struct AtExit {
  ~AtExit() {
    CUdeviceptr memory = 0;
    const CUresult code = cuMemAlloc_v2(&memory, 4);
    std::puts(code == CUDA_SUCCESS || code == CUDA_ERROR_DEINITIALIZED ? "came back" : "wrong code");
    std::fflush(stdout);
  }
};

// The forked child has no driver: every call says so, and it ends at once.
int fork_and_ask() {
  make_busy();
  const pid_t child = fork();
  if (child == 0) {
    CUstream stream = nullptr;
    const bool refused =
        cuStreamCreate(&stream, 0) == CUDA_ERROR_NOT_INITIALIZED && cuStreamSynchronize(nullptr) == CUDA_ERROR_NOT_INITIALIZED;
    std::exit(refused ? 0 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "";
  if (std::strcmp(way, "return") == 0) {
    make_busy();
    return 0;
  }
  if (std::strcmp(way, "exit") == 0) {
    static AtExit late;
    make_busy();
    std::exit(0);
  }
  if (std::strcmp(way, "abrupt") == 0) {
    make_busy();
    _exit(0);
  }
  if (std::strcmp(way, "fork") == 0) return fork_and_ask();
  if (std::strcmp(way, "idle") == 0) {
    // A program that only allocates must not get threads.
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    unsigned char byte = 1;
    require(cuInit(0), "cuInit");
    require(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    require(cuMemAlloc_v2(&memory, 1 << 20), "cuMemAlloc");
    require(cuMemcpyHtoD_v2(memory, &byte, 1), "cuMemcpyHtoD");
    require(cuMemFree_v2(memory), "cuMemFree");
    std::printf("%td\n", std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
    return 0;
  }
  std::fprintf(stderr, "usage: ends return|exit|abrupt|fork|idle\n");
  return 2;
}
