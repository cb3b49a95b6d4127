// SPDX-License-Identifier: Apache-2.0
//
// What the simulated driver itself costs, in real time (virtual costs are not waited for). Prints one JSON object; bars beside the
// figures are targets to read by, nothing fails. Every figure is the median of several rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shim/abi/driver_api.h"

namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr const char* kPtx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

void must(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s answers %d\n", what, code);
  std::exit(1);
}

/// Nanoseconds of one call of `work`, which does `operations` of what is measured.
double median_ns(int rounds, std::size_t operations, const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count() / static_cast<double>(operations));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

double alloc_free_ns(std::size_t bytes) {
  return median_ns(9, 400, [bytes] {
    for (int i = 0; i < 400; ++i) {
      CUdeviceptr address = 0;
      must(cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
      must(cuMemFree_v2(address), "cuMemFree");
    }
  });
}

double async_pair_ns() {
  return median_ns(9, 1000, [] {
    for (int i = 0; i < 1000; ++i) {
      CUdeviceptr address = 0;
      must(cuMemAllocAsync(&address, kMiB, nullptr), "cuMemAllocAsync");
      must(cuMemFreeAsync(address, nullptr), "cuMemFreeAsync");
    }
    must(cuCtxSynchronize(), "cuCtxSynchronize");
  });
}

double mem_info_ns() {
  return median_ns(9, 400, [] {
    for (int i = 0; i < 400; ++i) {
      std::size_t free = 0;
      std::size_t total = 0;
      must(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
    }
  });
}

double attribute_ns() {
  return median_ns(9, 100'000, [] {
    int value = 0;
    for (int i = 0; i < 100'000; ++i) cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
  });
}

double null_launch_ns() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  must(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  must(cuModuleGetFunction(&function, module, "nothing"), "cuModuleGetFunction");
  must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  return median_ns(9, 2000, [function] {
    for (int i = 0; i < 2000; ++i) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    must(cuCtxSynchronize(), "cuCtxSynchronize");
  });
}

/// Seconds to create, map and open `count` handles in one range, and to take it down again.
std::pair<double, double> handles_s(std::size_t count, std::size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::vector<CUmemGenericAllocationHandle> handles(count);
  CUdeviceptr base = 0;
  must(cuMemAddressReserve(&base, count * bytes, 0, 0, 0), "cuMemAddressReserve");
  const auto up = median_ns(1, 1, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      must(cuMemCreate(&handles[i], bytes, &properties, 0), "cuMemCreate");
      must(cuMemMap(base + i * bytes, bytes, 0, handles[i], 0), "cuMemMap");
    }
    must(cuMemSetAccess(base, count * bytes, &access, 1), "cuMemSetAccess");
  });
  const auto down = median_ns(1, 1, [&] {
    must(cuMemUnmap(base, count * bytes), "cuMemUnmap");
    for (const CUmemGenericAllocationHandle handle : handles) must(cuMemRelease(handle), "cuMemRelease");
    must(cuMemAddressFree(base, count * bytes), "cuMemAddressFree");
  });
  return {up / 1e9, down / 1e9};
}

}  // namespace

int main() {
  char folder[] = "/tmp/simgpu-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("SIMGPU_DIR", folder, 1);
  setenv("SIMGPU_GPUS", "h200", 1);
  CUcontext context = nullptr;
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  const auto [units_up, units_down] = handles_s(1100, 128 * kMiB);
  const auto [small_up, small_down] = handles_s(18'000, 2 * kMiB);
  std::printf(
      "{\n"
      "  \"alloc_free_64KiB_us\": %.2f,\n"
      "  \"alloc_free_64MiB_us\": %.2f, \"bar_alloc_free_us\": 60,\n"
      "  \"alloc_free_async_us\": %.2f,\n"
      "  \"mem_get_info_us\": %.2f,\n"
      "  \"get_attribute_ns\": %.0f,\n"
      "  \"null_launch_us\": %.2f, \"bar_null_launch_us\": 2,\n"
      "  \"units\": 1100, \"units_of_128MiB_up_s\": %.3f, \"units_of_128MiB_down_s\": %.3f, \"bar_units_up_s\": 0.5,\n"
      "  \"handles\": 18000, \"handles_of_2MiB_up_s\": %.3f, \"handles_of_2MiB_down_s\": %.3f\n"
      "}\n",
      alloc_free_ns(64 << 10) / 1e3, alloc_free_ns(64 * kMiB) / 1e3, async_pair_ns() / 1e3, mem_info_ns() / 1e3, attribute_ns(),
      null_launch_ns() / 1e3, units_up, units_down, small_up, small_down);
  std::filesystem::remove_all(folder);
  return 0;
}
