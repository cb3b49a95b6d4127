// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

/// A context on each of two devices; the first is current.
struct TwoDevices {
  TwoDevices() {
    start_machine("2xh200");
    DRIVER_OK(cuCtxCreate_v2(&second, 0, 1));
    DRIVER_OK(cuMemAlloc_v2(&there, 4096));
    DRIVER_OK(cuMemsetD32_v2(there, 21, 4));
    DRIVER_OK(cuCtxSynchronize());
    DRIVER_OK(cuCtxCreate_v2(&first, 0, 0));
    DRIVER_OK(cuMemAlloc_v2(&here, 4096));
  }
  ~TwoDevices() {
    cuCtxDestroy_v2(first);
    cuCtxDestroy_v2(second);
  }
  std::uint32_t value_here() const {
    std::uint32_t value = 0;
    DRIVER_OK(cuMemcpyDtoH_v2(&value, here, sizeof value));
    return value;
  }

  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CUdeviceptr here = 0;
  CUdeviceptr there = 0;
};

}  // namespace

TEST_CASE("copies go from one device to another, with and without naming the contexts", "[simgpu][peer]") {
  TwoDevices devices;
  SECTION("named") {
    DRIVER_OK(cuMemcpyPeer(devices.here, devices.first, devices.there, devices.second, 4));
  }
  SECTION("by address") {
    DRIVER_OK(cuMemcpyDtoD_v2(devices.here, devices.there, 4));
  }
  SECTION("through a graph") {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    CUDA_MEMCPY3D shape{};
    shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.srcDevice = devices.there;
    shape.dstDevice = devices.here;
    shape.WidthInBytes = 4;
    shape.Height = shape.Depth = 1;
    DRIVER_OK(cuGraphCreate(&graph, 0));
    DRIVER_OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &shape, devices.first));
    DRIVER_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    DRIVER_OK(cuGraphLaunch(exec, nullptr));
  }
  CHECK(devices.value_here() == 21);
}

TEST_CASE("a kernel reaches another device's memory only after peer access was enabled", "[simgpu][peer]") {
  TwoDevices devices;
  const CUfunction store = kernel(load_kernels(), "store");
  SECTION("enabled") {
    DRIVER_OK(cuCtxEnablePeerAccess(devices.second, 0));
    DRIVER_OK(launch_store(store, devices.there, 5, nullptr));
    DRIVER_OK(cuCtxSynchronize());
    DRIVER_OK(cuMemcpyDtoD_v2(devices.here, devices.there, 4));
    CHECK(devices.value_here() == 5);
  }
  SECTION("not enabled") {
    DRIVER_OK(launch_store(store, devices.there, 5, nullptr));
    CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  }
}

TEST_CASE("a stream of one device waits for an event of another", "[simgpu][peer]") {
  TwoDevices devices;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  Gate gate;
  DRIVER_OK(cuCtxPushCurrent_v2(devices.second));
  DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DRIVER_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  gate.hold(stream);
  DRIVER_OK(cuMemsetD32Async(devices.there, 8, 1, stream));
  DRIVER_OK(cuEventRecord(event, stream));
  DRIVER_OK(cuCtxPopCurrent_v2(nullptr));
  DRIVER_OK(cuStreamWaitEvent(nullptr, event, 0));
  DRIVER_OK(cuMemcpyPeerAsync(devices.here, devices.first, devices.there, devices.second, 4, nullptr));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  gate.open();
  CHECK(devices.value_here() == 8);
}
