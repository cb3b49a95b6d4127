// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/driver/simulated_gpu.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>

namespace simgpu_test {

const char* const kKernels = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 table[4] = {7, 8, 9, 10};
.visible .entry add_one(.param .u64 p, .param .u32 n)
{
  .reg .pred %done;
  .reg .b32 %r<6>;
  .reg .b64 %a<4>;
  ld.param.u64 %a1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %done, %r5, %r1;
  @%done bra END;
  cvta.to.global.u64 %a1, %a1;
  mul.wide.u32 %a2, %r5, 4;
  add.s64 %a3, %a1, %a2;
  ld.global.u32 %r1, [%a3];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%a3], %r1;
END:
  ret;
}
.visible .entry store(.param .u64 p, .param .u32 v)
{
  .reg .b32 %r1;
  .reg .b64 %a1;
  ld.param.u64 %a1, [p];
  ld.param.u32 %r1, [v];
  st.global.u32 [%a1], %r1;
  ret;
}
.visible .entry bounded(.param .u64 p)
.maxntid 64, 1, 1
{
  ret;
}
)";

namespace {
struct Folder {
  std::string path;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
}  // namespace

void start_machine(const char* gpus) {
  static Folder folder;
  if (!folder.path.empty()) return;
  std::string name = (std::filesystem::temp_directory_path() / "simgpu-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) FAIL("no temporary directory");
  folder.path = name;
  setenv("SIMGPU_DIR", name.c_str(), 1);
  setenv("SIMGPU_GPUS", gpus, 1);
  setenv("SIMGPU_MEMORY", "4GiB", 1);
  DRIVER_OK(cuInit(0));
}

TestContext::TestContext() {
  start_machine();
  DRIVER_OK(cuCtxCreate_v2(&context_, 0, 0));
}

TestContext::~TestContext() {
  cuCtxDestroy_v2(context_);
}

Gate::Gate() {
  void* memory = nullptr;
  DRIVER_OK(cuMemHostAlloc(&memory, sizeof *flag_, CU_MEMHOSTALLOC_DEVICEMAP));
  flag_ = static_cast<std::uint32_t*>(memory);
  *flag_ = 0;
  DRIVER_OK(cuMemHostGetDevicePointer_v2(&address_, memory, 0));
}

Gate::~Gate() {
  open();
  cuMemFreeHost(flag_);
}

void Gate::hold(CUstream stream) {
  DRIVER_OK(cuStreamWaitValue32_v2(stream, address_, 1, CU_STREAM_WAIT_VALUE_EQ));
}

void Gate::open() {
  std::atomic_ref<std::uint32_t>(*flag_).store(1, std::memory_order_release);
}

Words::Words(std::size_t count, std::uint32_t value) {
  DRIVER_OK(cuMemAlloc_v2(&address_, count * sizeof(std::uint32_t)));
  DRIVER_OK(cuMemsetD32_v2(address_, value, count));
  DRIVER_OK(cuStreamSynchronize(nullptr));
}

Words::~Words() {
  cuMemFree_v2(address_);
}

std::uint32_t Words::operator[](std::size_t index) const {
  std::uint32_t value = 0;
  // A stream of its own: reading must not wait for what a test holds up.
  CUstream stream = nullptr;
  DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DRIVER_OK(cuMemcpyDtoHAsync_v2(&value, address_ + index * sizeof value, sizeof value, stream));
  DRIVER_OK(cuStreamSynchronize(stream));
  DRIVER_OK(cuStreamDestroy_v2(stream));
  return value;
}

CUmodule load_kernels() {
  CUmodule module = nullptr;
  DRIVER_OK(cuModuleLoadData(&module, kKernels));
  return module;
}

CUfunction kernel(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  DRIVER_OK(cuModuleGetFunction(&function, module, name));
  return function;
}

CUresult launch_store(CUfunction store, CUdeviceptr address, std::uint32_t value, CUstream stream) {
  void* arguments[] = {&address, &value};
  return cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace simgpu_test
