// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <vector>

#include "tests/contract/areas.h"

namespace contract {

const char kKernels[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 table[16] = {1, 2, 3};
.visible .entry fill(.param .u64 fill_pointer, .param .u32 fill_value, .param .u32 fill_count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [fill_pointer];
  ld.param.u32 %r1, [fill_value];
  ld.param.u32 %r2, [fill_count];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r1;
done:
  ret;
}
.visible .entry poke(.param .u64 poke_address)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [poke_address];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

namespace {

void observe_loading(const Driver& driver, Observer& observer) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  observer.expect("load", driver.cuModuleLoadData(&module, kKernels), CUDA_SUCCESS, Source::header);
  observer.expect("load_null", driver.cuModuleLoadData(nullptr, kKernels), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("load_null_image", driver.cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUmodule bad = nullptr;
  observer.expect("load_bad_ptx", driver.cuModuleLoadData(&bad, ".version 7.0\n.target sm_80\n.address_size 64\nnonsense here;\n"),
                  CUDA_ERROR_INVALID_PTX, Source::header);
  observer.expect("load_no_image", driver.cuModuleLoadData(&bad, "this is no image"), CUDA_ERROR_INVALID_IMAGE, Source::open);
  std::array<char, 4096> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(std::uintptr_t{log.size()})};
  driver.cuModuleLoadDataEx(&bad, ".version 7.0\n.target sm_80\n.address_size 64\nnonsense here;\n", 2, options.data(),
                            values.data());
  observer.expect("load_bad_ptx_explains", std::strlen(log.data()) > 0, Source::header);
  observer.expect("function", driver.cuModuleGetFunction(&function, module, "fill"), CUDA_SUCCESS, Source::header);
  observer.expect("function_missing", driver.cuModuleGetFunction(&function, module, "none"), CUDA_ERROR_NOT_FOUND, Source::header);
  observer.expect("function_null_name", driver.cuModuleGetFunction(&function, module, nullptr), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  CUdeviceptr table = 0;
  std::size_t size = 0;
  observer.expect("global", driver.cuModuleGetGlobal_v2(&table, &size, module, "table"), CUDA_SUCCESS, Source::header);
  observer.expect("global_size", size, std::size_t{64}, Source::header);
  observer.expect("global_missing", driver.cuModuleGetGlobal_v2(&table, &size, module, "none"), CUDA_ERROR_NOT_FOUND,
                  Source::header);
  driver.cuModuleGetGlobal_v2(&table, nullptr, module, "table");
  std::array<unsigned, 16> words{};
  driver.cuMemcpyDtoH_v2(words.data(), table, sizeof words);
  observer.expect("global_initialised", words[0] == 1 && words[2] == 3 && words[3] == 0, Source::header);
  observer.expect("global_free", driver.cuMemFree_v2(table), CUDA_ERROR_INVALID_VALUE, Source::known);
  CUmoduleLoadingMode mode{};
  observer.expect("loading_mode", driver.cuModuleGetLoadingMode(&mode), CUDA_SUCCESS, Source::header);
  const char* name = nullptr;
  driver.cuModuleGetFunction(&function, module, "fill");
  observer.expect("function_name", driver.cuFuncGetName(&name, function), CUDA_SUCCESS, Source::header);
  observer.expect("function_name_is", name == nullptr ? "" : name, "fill", Source::header);
  std::size_t offset = 99, width = 99;
  observer.expect("parameter_1", driver.cuFuncGetParamInfo(function, 1, &offset, &width), CUDA_SUCCESS, Source::header);
  observer.expect("parameter_1_layout", offset == 8 && width == 4, Source::header);
  observer.expect("parameter_beyond", driver.cuFuncGetParamInfo(function, 3, &offset, &width), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  int value = -1;
  observer.expect("attribute", driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function), CUDA_SUCCESS,
                  Source::header);
  observer.expect("attribute_max_threads", value > 0 && value <= 1024, Source::header);
  driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  observer.expect("attribute_shared", value, 0, Source::header);
  observer.expect("attribute_unknown", driver.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(999), function),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("attribute_set", driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16384),
                  CUDA_SUCCESS, Source::header);
  observer.expect("attribute_set_read_only", driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("occupancy", driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 128, 0), CUDA_SUCCESS,
                  Source::header);
  observer.expect("occupancy_positive", value > 0, Source::header);
  observer.expect("unload", driver.cuModuleUnload(module), CUDA_SUCCESS, Source::header);
}

void observe_launching(const Driver& driver, Observer& observer) {
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUdeviceptr block = 0;
  driver.cuModuleLoadData(&module, kKernels);
  driver.cuModuleGetFunction(&fill, module, "fill");
  driver.cuMemAlloc_v2(&block, 4096);
  driver.cuMemsetD8_v2(block, 0, 4096);
  unsigned value = 0xABCD1234, count = 1000;
  std::array<void*, 3> arguments{&block, &value, &count};
  const auto launch = [&](unsigned grid, unsigned threads, unsigned shared = 0) {
    return driver.cuLaunchKernel(fill, grid, 1, 1, threads, 1, 1, shared, nullptr, arguments.data(), nullptr);
  };
  observer.expect("launch", launch(4, 256), CUDA_SUCCESS, Source::header);
  observer.expect("launch_synchronize", driver.cuCtxSynchronize(), CUDA_SUCCESS, Source::header);
  std::vector<unsigned> words(1024);
  driver.cuMemcpyDtoH_v2(words.data(), block, 4096);
  observer.expect("launch_computes", words[0] == value && words[999] == value && words[1000] == 0, Source::header);
  observer.expect("launch_grid_0", launch(0, 32), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("launch_block_0", launch(1, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("launch_block_1025", launch(1, 1025), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("launch_shared_too_much", launch(1, 32, 64 << 20), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("launch_null", driver.cuLaunchKernel(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.data(), nullptr),
                  CUDA_ERROR_INVALID_HANDLE, Source::open);

  struct {
    CUdeviceptr pointer;
    unsigned value, count;
  } packed{block, 0x11111111, 16};
  std::size_t size = sizeof packed;
  std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  observer.expect("launch_extra", driver.cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra.data()), CUDA_SUCCESS,
                  Source::header);
  driver.cuMemcpyDtoH_v2(words.data(), block, 4096);
  observer.expect("launch_extra_computes", words[15] == 0x11111111 && words[16] == value, Source::header);
  observer.expect("launch_both_forms", driver.cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.data(), extra.data()),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  value = 0x22222222;
  count = 4;
  observer.expect("launch_ex", driver.cuLaunchKernelEx(&config, fill, arguments.data(), nullptr), CUDA_SUCCESS, Source::header);
  driver.cuMemcpyDtoH_v2(words.data(), block, 4096);
  observer.expect("launch_ex_computes", words[3] == 0x22222222 && words[4] == 0x11111111, Source::header);
  observer.expect("launch_ex_null", driver.cuLaunchKernelEx(nullptr, fill, arguments.data(), nullptr), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  driver.cuMemFree_v2(block);
  driver.cuModuleUnload(module);
}

void observe_libraries(const Driver& driver, Observer& observer) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  observer.expect("library", driver.cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS,
                  Source::header);
  observer.expect("library_kernel", driver.cuLibraryGetKernel(&kernel, library, "fill"), CUDA_SUCCESS, Source::header);
  observer.expect("library_kernel_missing", driver.cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND,
                  Source::header);
  driver.cuLibraryGetKernel(&kernel, library, "fill");
  observer.expect("library_function", driver.cuKernelGetFunction(&function, kernel), CUDA_SUCCESS, Source::header);
  CUdeviceptr block = 0;
  driver.cuMemAlloc_v2(&block, 4096);
  unsigned value = 5, count = 8;
  std::array<void*, 3> arguments{&block, &value, &count};
  observer.expect(
      "library_kernel_launches_as_function",
      driver.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.data(), nullptr),
      CUDA_SUCCESS, Source::header);
  unsigned word = 0;
  driver.cuMemcpyDtoH_v2(&word, block + 28, 4);
  observer.expect("library_kernel_computes", word, 5u, Source::header);
  driver.cuMemFree_v2(block);
  observer.expect("library_unload", driver.cuLibraryUnload(library), CUDA_SUCCESS, Source::header);
}

void observe_linking(const Driver& driver, Observer& observer) {
  CUlinkState state = nullptr;
  observer.expect("link_create", driver.cuLinkCreate_v2(0, nullptr, nullptr, &state), CUDA_SUCCESS, Source::header);
  observer.expect("link_add",
                  driver.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(kKernels), std::strlen(kKernels) + 1,
                                          "kernels", 0, nullptr, nullptr),
                  CUDA_SUCCESS, Source::header);
  void* image = nullptr;
  std::size_t size = 0;
  observer.expect("link_complete", driver.cuLinkComplete(state, &image, &size), CUDA_SUCCESS, Source::header);
  CUmodule module = nullptr;
  observer.expect("link_result_loads", driver.cuModuleLoadData(&module, image), CUDA_SUCCESS, Source::header);
  CUfunction function = nullptr;
  observer.expect("link_result_has_the_kernel", driver.cuModuleGetFunction(&function, module, "fill"), CUDA_SUCCESS,
                  Source::header);
  driver.cuModuleUnload(module);
  observer.expect("link_destroy", driver.cuLinkDestroy(state), CUDA_SUCCESS, Source::header);
}

}  // namespace

void observe_modules(const Driver& driver, Observer& observer) {
  observer.area("module");
  observe_loading(driver, observer);
  observe_launching(driver, observer);
  observe_libraries(driver, observer);
  observe_linking(driver, observer);
}

}  // namespace contract
