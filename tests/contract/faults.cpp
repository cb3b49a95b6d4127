// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/contract/areas.h"

namespace contract {
namespace {

/// A kernel that writes where nothing is mapped: error 700, for good, in that context alone.
void observe_bad_address(const Driver& driver, Observer& observer) {
  CUcontext broken = nullptr, sound = nullptr, popped = nullptr;
  driver.cuCtxCreate_v2(&sound, 0, 0);
  CUdeviceptr kept = 0;
  driver.cuMemAlloc_v2(&kept, 4096);
  driver.cuMemsetD8_v2(kept, 0x31, 16);
  driver.cuCtxPopCurrent_v2(&popped);
  driver.cuCtxCreate_v2(&broken, 0, 0);
  CUmodule module = nullptr;
  CUfunction poke = nullptr;
  CUdeviceptr nowhere = 0x10, block = 0;
  driver.cuModuleLoadData(&module, kKernels);
  driver.cuModuleGetFunction(&poke, module, "poke");
  std::array<void*, 1> arguments{&nowhere};
  observer.expect("bad_launch_is_accepted", driver.cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr),
                  CUDA_SUCCESS, Source::known);
  observer.expect("bad_launch_shows_at_synchronize", driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, Source::header);
  observer.expect("sticky_synchronize", driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, Source::header);
  observer.expect("sticky_alloc", driver.cuMemAlloc_v2(&block, 512), CUDA_ERROR_ILLEGAL_ADDRESS, Source::known);
  observer.expect("sticky_launch", driver.cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr),
                  CUDA_ERROR_ILLEGAL_ADDRESS, Source::known);
  driver.cuCtxPopCurrent_v2(&popped);
  observer.open("broken_destroy", driver.cuCtxDestroy_v2(broken));
  driver.cuCtxPushCurrent_v2(sound);
  unsigned char byte = 0;
  observer.open("other_context_copy", driver.cuMemcpyDtoH_v2(&byte, kept, 1));
  observer.open("other_context_intact", byte == 0x31);
  driver.cuMemFree_v2(kept);
  driver.cuCtxDestroy_v2(sound);
}

/// Runs `body` in a forked child; its status is the answer.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void observe_fork(const Driver& driver, Observer& observer) {
  const int not_initialised = static_cast<int>(CUDA_ERROR_NOT_INITIALIZED);
  observer.expect("forked_init", in_child([&] { return static_cast<int>(driver.cuInit(0)); }), not_initialised, Source::sheet);
  observer.expect("forked_alloc", in_child([&] {
                    CUdeviceptr pointer = 0;
                    return static_cast<int>(driver.cuMemAlloc_v2(&pointer, 512));
                  }),
                  not_initialised, Source::sheet);
  observer.expect("forked_count", in_child([&] {
                    int count = 0;
                    return static_cast<int>(driver.cuDeviceGetCount(&count));
                  }),
                  not_initialised, Source::sheet);
  observer.expect("forked_exit_is_clean", in_child([] { return 0; }), 0, Source::known);
  CUcontext context = nullptr;
  driver.cuCtxCreate_v2(&context, 0, 0);
  CUdeviceptr block = 0;
  observer.expect("parent_goes_on", driver.cuMemAlloc_v2(&block, 4096), CUDA_SUCCESS, Source::known);
  driver.cuMemFree_v2(block);
  driver.cuCtxDestroy_v2(context);
}

}  // namespace

void observe_faults(const Driver& driver, Observer& observer) {
  observer.area("fault");
  observe_fork(driver, observer);
  observe_bad_address(driver, observer);
}

}  // namespace contract
