// SPDX-License-Identifier: Apache-2.0
//
// What children of the tests do with the driver.
#include "tests/tools/simgpu/machine/driver_roles.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/simgpu/machine/child.h"

namespace cupool::simgpu::test {

void must(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s = %d\n", what, code);
  _exit(97);
}

void start_driver() {
  CUcontext context = nullptr;
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

std::uint64_t free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  must(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return free;
}

CUmemAllocationProp device_memory(CUmemAllocationHandleType types) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  properties.requestedHandleTypes = types;
  return properties;
}

namespace {

std::size_t open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  std::size_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - 3;  // ".", ".." and the folder's own
}

// Takes BYTES, says so, and holds them until it may go on.
const Role hold("hold", [](const Arguments& arguments) {
  start_driver();
  CUdeviceptr address = 0;
  const CUresult code = cuMemAlloc_v2(&address, std::stoull(arguments.at(0)));
  std::printf("%d\n", code);
  wait_to_go_on();
  return 0;
});

const Role print_free("free", [](const Arguments&) {
  start_driver();
  std::printf("%llu\n", static_cast<unsigned long long>(free_memory()));
  return 0;
});

const Role init("init", [](const Arguments&) {
  std::printf("%d\n", cuInit(0));
  return 0;
});

// Takes as many blocks of BYTES as it gets, as soon as it may begin; says how many, and holds them.
const Role grab("grab", [](const Arguments& arguments) {
  start_driver();
  std::printf("ready\n");
  wait_to_go_on();
  int count = 0;
  CUdeviceptr address = 0;
  while (cuMemAlloc_v2(&address, std::stoull(arguments.at(0))) == CUDA_SUCCESS) ++count;
  std::printf("%d\n", count);
  std::fflush(stdout);
  pause();
  return 0;
});

// Allocates, maps, shares and frees at random, as soon as it may begin, until it is killed.
const Role churn("churn", [](const Arguments& arguments) {
  start_driver();
  std::mt19937 random{static_cast<unsigned>(std::stoul(arguments.at(0)))};
  std::vector<CUdeviceptr> blocks;
  const CUmemAllocationProp properties = device_memory(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  std::printf("ready\n");
  wait_to_go_on();
  while (true) {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    switch (random() % 4) {
      case 0:
      case 1:
        if (cuMemAlloc_v2(&address, (1 + random() % 64) * 128 * 1024) == CUDA_SUCCESS) blocks.push_back(address);
        break;
      case 2:
        if (!blocks.empty()) {
          cuMemFree_v2(blocks.back());
          blocks.pop_back();
        }
        break;
      default:
        if (cuMemCreate(&handle, 4 * kMiB, &properties, 0) == CUDA_SUCCESS) {
          int descriptor = -1;
          if (cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS)
            close(descriptor);
          if (random() % 2 == 0) cuMemRelease(handle);
        }
    }
  }
  return 0;
});

// COUNT handles of 2 MiB, mapped one after another; prints the descriptors that it has open.
const Role many_handles("many_handles", [](const Arguments& arguments) {
  start_driver();
  const std::size_t count = std::stoull(arguments.at(0));
  const auto types = arguments.at(1) == "shareable" ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  const CUmemAllocationProp properties = device_memory(types);
  const std::size_t before = open_descriptors();
  CUdeviceptr base = 0;
  must(cuMemAddressReserve(&base, count * 2 * kMiB, 0, 0, 0), "reserve");
  std::vector<CUmemGenericAllocationHandle> handles(count);
  for (std::size_t i = 0; i < count; ++i) {
    must(cuMemCreate(&handles[i], 2 * kMiB, &properties, 0), "create");
    must(cuMemMap(base + i * 2 * kMiB, 2 * kMiB, 0, handles[i], 0), "map");
  }
  std::printf("%zu\n", open_descriptors() - before);
  for (std::size_t i = 0; i < count; ++i) {
    must(cuMemUnmap(base + i * 2 * kMiB, 2 * kMiB), "unmap");
    must(cuMemRelease(handles[i]), "release");
  }
  std::printf("%llu\n", static_cast<unsigned long long>(free_memory()));
  return 0;
});

// Forks after cuInit; the child says what the driver answers it and sleeps; this process is killed meanwhile.
const Role fork_and_hold("fork_and_hold", [](const Arguments&) {
  start_driver();
  CUdeviceptr address = 0;
  must(cuMemAlloc_v2(&address, 64 * kMiB), "alloc");
  if (fork() == 0) {
    std::size_t free = 0;
    std::size_t total = 0;
    int version = 0;
    std::printf("%d %d %d %d\n", cuInit(0), cuMemGetInfo_v2(&free, &total), cuMemFree_v2(address), cuDriverGetVersion(&version));
    std::fflush(stdout);
    sleep(20);
    _exit(0);
  }
  must(cuMemFree_v2(address), "the parent still works");
  must(cuMemAlloc_v2(&address, 64 * kMiB), "alloc");
  pause();
  return 0;
});

int g_children_died = 0;

// Is there any trace of the server in the process that started it?
const Role look_for_children("look_for_children", [](const Arguments&) {
  std::signal(SIGCHLD, [](int) { ++g_children_died; });
  const std::size_t before = open_descriptors();
  start_driver();
  const pid_t found = waitpid(-1, nullptr, WNOHANG);
  std::printf("%d %d %zu\n", g_children_died, static_cast<int>(found < 0 && errno == ECHILD), open_descriptors() - before);
  return 0;
});

// A primary context over a reset and a release; memory freed while no context is current. Prints one line per step.
const Role context_lives("context_lives", [](const Arguments&) {
  start_driver();
  CUcontext first = nullptr;
  CUcontext again = nullptr;
  CUdeviceptr address = 0;
  must(cuCtxGetCurrent(&first), "current");
  must(cuMemAlloc_v2(&address, kMiB), "alloc");
  must(cuCtxPopCurrent_v2(&again), "pop");
  std::printf("freed without a context: %d\n", cuMemFree_v2(address));
  must(cuCtxPushCurrent_v2(first), "push");
  must(cuMemAlloc_v2(&address, kMiB), "alloc");
  must(cuDevicePrimaryCtxReset_v2(0), "reset");
  std::printf("after a reset: %d %d\n", cuCtxSynchronize(), cuMemFree_v2(address));
  const CUresult once = cuDevicePrimaryCtxRelease_v2(0);
  std::printf("released what was retained: %d, once more: %d\n", once, cuDevicePrimaryCtxRelease_v2(0));
  must(cuDevicePrimaryCtxRetain(&again, 0), "retain");
  std::printf("the same handle: %d, alive: %d\n", static_cast<int>(again == first), cuCtxSynchronize());
  return 0;
});

// Old bytes of a process's own memory, and of another's: prints what fresh memory begins with.
const Role first_byte("first_byte", [](const Arguments& arguments) {
  start_driver();
  CUdeviceptr address = 0;
  unsigned char byte = 0x5a;
  for (const std::string& step : arguments) {
    if (step == "alloc") must(cuMemAlloc_v2(&address, 8 * kMiB), "alloc");
    if (step == "free") must(cuMemFree_v2(address), "free");
    if (step == "write") must(cuMemcpyHtoD_v2(address, &byte, 1), "write");
    if (step == "read") {
      unsigned char seen = 0xff;
      must(cuMemcpyDtoH_v2(&seen, address, 1), "read");
      std::printf("%d\n", seen);
    }
  }
  return 0;
});

}  // namespace
}  // namespace cupool::simgpu::test
