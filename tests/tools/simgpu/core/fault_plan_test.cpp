// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/fault_plan.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cupool::simgpu {
namespace {

FaultPlan plan(std::string_view text, std::uint64_t seed = 1) {
  std::string message;
  auto parsed = FaultPlan::parse(text, seed, message);
  INFO(message);
  REQUIRE(parsed);
  return std::move(*parsed);
}

std::vector<int> codes(const FaultPlan& faults, const char* exported, const char* base, int calls) {
  std::vector<int> seen;
  for (int i = 0; i < calls; ++i) seen.push_back(faults.on_call(exported, base).code);
  return seen;
}

}  // namespace

TEST_CASE("the call that the plan names fails, and only that", "[simgpu][faults]") {
  const FaultPlan faults = plan("cuMemCreate:3=2; cuMemMap:2-3=1; cuMemUnmap:2+=999");
  CHECK(codes(faults, "cuMemCreate", "cuMemCreate", 5) == std::vector<int>{0, 0, 2, 0, 0});
  CHECK(codes(faults, "cuMemMap", "cuMemMap", 4) == std::vector<int>{0, 1, 1, 0});
  CHECK(codes(faults, "cuMemUnmap", "cuMemUnmap", 3) == std::vector<int>{0, 999, 999});
  CHECK(codes(faults, "cuMemRelease", "cuMemRelease", 2) == std::vector<int>{0, 0});
}

TEST_CASE("a name without its version, or a prefix, covers all forms", "[simgpu][faults]") {
  CHECK(plan("cuMemAlloc:*=2").on_call("cuMemAlloc_v2", "cuMemAlloc").code == 2);
  CHECK(plan("cuMemAlloc_v2:*=2").on_call("cuMemAlloc_v2", "cuMemAlloc").code == 2);
  CHECK(plan("cuMem*:*=2").on_call("cuMemFree_v2", "cuMemFree").code == 2);
  CHECK(plan("cuMemAlloc:*=2").on_call("cuMemAllocPitch_v2", "cuMemAllocPitch").code == 0);
}

TEST_CASE("a share of the calls fails, the same ones for one seed", "[simgpu][faults]") {
  const auto a = codes(plan("cuMemMap:*@20%=999", 7), "cuMemMap", "cuMemMap", 2000);
  CHECK(a == codes(plan("cuMemMap:*@20%=999", 7), "cuMemMap", "cuMemMap", 2000));
  CHECK(a != codes(plan("cuMemMap:*@20%=999", 8), "cuMemMap", "cuMemMap", 2000));
  const auto failed = std::count(a.begin(), a.end(), 999);
  CHECK(failed > 300);
  CHECK(failed < 500);
}

TEST_CASE("launches are counted together, and a context fault is sticky", "[simgpu][faults]") {
  const FaultPlan faults = plan("after 2 launches=700");
  CHECK(faults.on_call("cuLaunchKernel", "cuLaunchKernel").code == 0);
  CHECK(faults.on_call("cuGraphLaunch_ptsz", "cuGraphLaunch").code == 0);
  CHECK(faults.on_call("cuMemAlloc_v2", "cuMemAlloc").code == 0);
  const Fault fault = faults.on_call("cuLaunchKernelEx", "cuLaunchKernelEx");
  CHECK(fault.code == 700);
  CHECK(fault.sticky);
  CHECK_FALSE(plan("cuMemCreate:*=2").on_call("cuMemCreate", "cuMemCreate").sticky);
}

TEST_CASE("delays add up and leave the result alone", "[simgpu][faults]") {
  const Fault fault = plan("cuMemCreate:delay=5ms; cuMemCreate:1:delay=3us").on_call("cuMemCreate", "cuMemCreate");
  CHECK(fault.code == 0);
  CHECK(fault.delay_ns == 5'003'000);
  CHECK(plan("nvmlDeviceGetMemoryInfo:*=hang").on_call("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo").hang);
}

TEST_CASE("a rule that cannot be read is quoted with examples", "[simgpu][faults]") {
  for (const char* bad : {"cuMemCreate", "cuMemCreate=2", "cuMemCreate:0=2", "cuMemCreate:3=", "cuMemCreate:3=zwei", ":3=2",
                          "cuMemCreate:5-3=2", "cuMemCreate:*@120%=2", "cuMemCreate:delay=5", "after x launches=700"}) {
    std::string message;
    INFO(bad);
    CHECK_FALSE(FaultPlan::parse(bad, 1, message));
    CHECK(message.find(bad) != std::string::npos);
  }
}

}  // namespace cupool::simgpu
