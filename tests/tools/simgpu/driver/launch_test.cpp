// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

struct Loaded {
  Loaded() : module(load_kernels()) {}
  CUmodule module;
  CUfunction add_one = kernel(module, "add_one");
  CUfunction store = kernel(module, "store");
};

}  // namespace

TEST_CASE("a kernel computes over its whole grid", "[simgpu][launch]") {
  TestContext context;
  Loaded loaded;
  Words words(1000, 4);
  CUdeviceptr address = words.address();
  std::uint32_t count = 999;
  void* arguments[] = {&address, &count};
  DRIVER_OK(cuLaunchKernel(loaded.add_one, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 5);
  CHECK(words[998] == 5);
  CHECK(words[999] == 4);
}

TEST_CASE("parameters are taken at the call, in each of their forms", "[simgpu][launch]") {
  TestContext context;
  Loaded loaded;
  Words words(3);
  Gate gate;
  gate.hold(nullptr);
  struct {
    CUdeviceptr address;
    std::uint32_t value;
  } packed{words.address(), 1};
  std::size_t size = 12;
  void* by_address[] = {&packed.address, &packed.value};
  void* by_buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  DRIVER_OK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, by_address, nullptr));
  packed = {words.address() + 4, 2};
  DRIVER_OK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, by_buffer));
  packed = {words.address() + 8, 3};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  const CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
  DRIVER_OK(cuLaunchKernelEx(&config, loaded.store, by_address, nullptr));
  packed = {0, 0};
  gate.open();
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 1);
  CHECK(words[1] == 2);
  CHECK(words[2] == 3);
}

TEST_CASE("the calls of before CUDA 4.0 still launch", "[simgpu][launch]") {
  TestContext context;
  Loaded loaded;
  Words words(1);
  CUdeviceptr address = words.address();
  DRIVER_OK(cuFuncSetBlockShape(loaded.store, 1, 1, 1));
  DRIVER_OK(cuParamSetv(loaded.store, 0, &address, sizeof address));
  DRIVER_OK(cuParamSeti(loaded.store, 8, 42));
  DRIVER_OK(cuParamSetSize(loaded.store, 12));
  DRIVER_OK(cuLaunchGrid(loaded.store, 1, 1));
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 42);
}

TEST_CASE("launches that make no sense are refused and harm nothing", "[simgpu][launch]") {
  TestContext context;
  Loaded loaded;
  Words words(1);
  CUdeviceptr address = words.address();
  std::uint32_t value = 1;
  void* arguments[] = {&address, &value};
  void* hole[] = {&address, nullptr};
  std::size_t too_small = 8;
  void* short_buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &address, CU_LAUNCH_PARAM_BUFFER_SIZE, &too_small, CU_LAUNCH_PARAM_END};
  const CUfunction bounded = kernel(loaded.module, "bounded");
  CHECK(cuLaunchKernel(loaded.store, 0, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 0, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 65536, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 33, 32, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 1 << 20, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, hole, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, short_buffer) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(loaded.store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, short_buffer) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchKernel(bounded, 1, 1, 1, 65, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(cuLaunchCooperativeKernel(loaded.store, 1 << 30, 1, 1, 1024, 1, 1, 0, nullptr, arguments) ==
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CHECK(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  DRIVER_OK(launch_store(loaded.store, address, 9, nullptr));
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 9);
}

TEST_CASE("a kernel's bad address ends its context with 700, and only that", "[simgpu][launch][fault]") {
  TestContext sound;
  Words kept(1, 3);
  {
    TestContext broken;
    Loaded loaded;
    CUdeviceptr memory = 0;
    DRIVER_OK(launch_store(loaded.store, 0x10, 1, nullptr));
    CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuMemAlloc_v2(&memory, 4) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(launch_store(loaded.store, 0x10, 1, nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  CHECK(kept[0] == 3);
  Loaded loaded;
  DRIVER_OK(launch_store(loaded.store, kept.address(), 4, nullptr));
  DRIVER_OK(cuCtxSynchronize());
  CHECK(kept[0] == 4);
}

TEST_CASE("work behind a fault is dropped, and a callback hears of it", "[simgpu][launch][fault]") {
  TestContext outer;
  CUresult heard = CUDA_SUCCESS;
  Words words(1);
  {
    TestContext broken;
    Loaded loaded;
    CUstream stream = nullptr;
    DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    Gate gate;
    gate.hold(stream);
    DRIVER_OK(launch_store(loaded.store, 0x10, 1, stream));
    DRIVER_OK(cuStreamAddCallback(
        stream, [](CUstream, CUresult status, void* data) { *static_cast<CUresult*>(data) = status; }, &heard, 0));
    DRIVER_OK(cuLaunchHostFunc(
        stream, [](void* data) { *static_cast<CUresult*>(data) = CUDA_ERROR_UNKNOWN; }, &heard));
    gate.open();
    CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  CHECK(heard == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("a copy that begins nowhere is a fault, one that leaves its block is refused", "[simgpu][launch][fault]") {
  TestContext outer;
  TestContext context;
  Words words(4);
  std::array<std::uint32_t, 8> host{};
  CHECK(cuMemcpyDtoH_v2(host.data(), words.address() + 8, 12) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32_v2(words.address(), 0, 5) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuMemcpyDtoH_v2(host.data(), words.address(), 16));
  CHECK(cuMemcpyDtoH_v2(host.data(), words.address() + (std::uint64_t{1} << 39), 4) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("an endless kernel ends with its context", "[simgpu][launch][fault]") {
  start_machine();
  const char* const endless = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry spin()
{
LOOP:
  bra LOOP;
}
)";
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  DRIVER_OK(cuCtxCreate_v2(&context, 0, 0));
  DRIVER_OK(cuModuleLoadData(&module, endless));
  DRIVER_OK(cuLaunchKernel(kernel(module, "spin"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  CHECK(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
}
