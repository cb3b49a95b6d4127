// SPDX-License-Identifier: Apache-2.0
//
// Several threads of one process on one simulated GPU: the account and the addresses come out right, and ThreadSanitizer has
// nothing to say.
#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <vector>

#include "tests/tools/simgpu/machine/child.h"
#include "tests/tools/simgpu/machine/driver_roles.h"

namespace cupool::simgpu::test {
namespace {

constexpr int kThreads = 6;
constexpr int kSteps = 400;

struct Hammer {
  explicit Hammer(CUcontext context, unsigned seed) : random(seed) { must(cuCtxSetCurrent(context), "cuCtxSetCurrent"); }

  void linear() {
    CUdeviceptr address = 0;
    if (cuMemAlloc_v2(&address, 1 + random() % (3 * kMiB)) != CUDA_SUCCESS) return;
    must(cuMemsetD8_v2(address, 7, 1), "set");
    CUdeviceptr base = 0;
    std::size_t size = 0;
    must(cuMemGetAddressRange_v2(&base, &size, address), "range");
    if (base != address) ++wrong;
    must(cuMemFree_v2(address), "free");
  }

  void stream_ordered() {
    CUdeviceptr address = 0;
    if (cuMemAllocAsync(&address, 1 + random() % kMiB, nullptr) != CUDA_SUCCESS) return;
    must(cuMemsetD8Async(address, 1, 1, nullptr), "set");
    must(cuMemFreeAsync(address, nullptr), "free");
    if (random() % 8 == 0) must(cuCtxSynchronize(), "synchronize");
  }

  void virtual_memory() {
    const CUmemAllocationProp properties = device_memory();
    const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr base = 0;
    if (cuMemCreate(&handle, 2 * kMiB, &properties, 0) != CUDA_SUCCESS) return;
    must(cuMemAddressReserve(&base, 4 * kMiB, 0, 0, 0), "reserve");
    must(cuMemMap(base, 2 * kMiB, 0, handle, 0), "map");
    must(cuMemMap(base + 2 * kMiB, 2 * kMiB, 0, handle, 0), "map");
    must(cuMemSetAccess(base, 4 * kMiB, &access, 1), "access");
    const auto value = static_cast<unsigned>(random());
    must(cuMemcpyHtoD_v2(base + 64, &value, sizeof value), "copy");
    unsigned seen = 0;
    must(cuMemcpyDtoH_v2(&seen, base + 2 * kMiB + 64, sizeof seen), "copy");
    if (seen != value) ++wrong;
    must(cuMemUnmap(base, 4 * kMiB), "unmap");
    must(cuMemRelease(handle), "release");
    must(cuMemAddressFree(base, 4 * kMiB), "address free");
  }

  void host() {
    void* memory = nullptr;
    must(cuMemHostAlloc(&memory, 8192, 0), "host alloc");
    unsigned type = 0;
    must(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(memory)), "attribute");
    if (type != CU_MEMORYTYPE_HOST) ++wrong;
    must(cuMemFreeHost(memory), "host free");
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      switch (random() % 4) {
        case 0:
          linear();
          break;
        case 1:
          stream_ordered();
          break;
        case 2:
          virtual_memory();
          break;
        default:
          host();
      }
    }
  }

  std::mt19937 random;
  int wrong = 0;
};

}  // namespace

TEST_CASE("threads that hammer one GPU disturb neither each other nor the account", "[simgpu][threads]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  MachineDirectory machine{{{"SIMGPU_GPUS", "a100"}, {"SIMGPU_MEMORY", "512MiB"}, {"SIMGPU_CONTEXT_MEMORY", "32MiB"}}};
  for (const auto& [name, value] : machine.environment()) setenv(name.c_str(), value.c_str(), 1);
  start_driver();
  CUcontext context = nullptr;
  must(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::uint64_t before = free_memory();
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Hammer hammer(context, seed + static_cast<unsigned>(i));
      hammer.run();
      wrong[static_cast<std::size_t>(i)] = hammer.wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads));
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  CUmemoryPool pool = nullptr;
  must(cuDeviceGetDefaultMemPool(&pool, 0), "pool");
  must(cuMemPoolTrimTo(pool, 0), "trim");
  CHECK(free_memory() == before);
}

}  // namespace cupool::simgpu::test
