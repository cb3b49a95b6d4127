// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

// The smallest file that starts as machine code does.
constexpr char kCubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

/// A container as the toolkit writes it, with one uncompressed text for sm_80.
std::string fat_binary_of(std::string text) {
  text.resize((text.size() + 8) / 8 * 8);  // at least one zero, and a multiple of eight
  std::string bytes(16 + 64, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint16_t{1});
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{64 + text.size()});
  put(16, std::uint16_t{1});
  put(20, std::uint32_t{64});
  put(24, std::uint64_t{text.size()});
  put(44, std::uint32_t{80});
  return bytes + text;
}

}  // namespace

TEST_CASE("a module's functions, attributes and variables are found by name", "[simgpu][module]") {
  TestContext context;
  const CUmodule module = load_kernels();
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "none") == CUDA_ERROR_NOT_FOUND);
  const CUfunction store = kernel(module, "store");
  CHECK(kernel(module, "store") == store);
  const char* name = nullptr;
  DRIVER_OK(cuFuncGetName(&name, store));
  CHECK(std::string(name) == "store");
  std::size_t offset = 0;
  std::size_t size = 0;
  DRIVER_OK(cuFuncGetParamInfo(store, 1, &offset, &size));
  CHECK(offset == 8);
  CHECK(size == 4);
  CHECK(cuFuncGetParamInfo(store, 2, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  int most = 0;
  DRIVER_OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel(module, "bounded")));
  CHECK(most == 64);
  CUdeviceptr table = 0;
  std::array<std::uint32_t, 4> values{};
  DRIVER_OK(cuModuleGetGlobal_v2(&table, &size, module, "table"));
  CHECK(size == 16);
  DRIVER_OK(cuMemcpyDtoH_v2(values.data(), table, size));
  CHECK(values == std::array<std::uint32_t, 4>{7, 8, 9, 10});
  CHECK(cuMemFree_v2(table) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuModuleUnload(module));
  CHECK(cuModuleGetFunction(&function, module, "store") == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuFuncGetName(&name, store) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("each load of the same code has variables of its own", "[simgpu][module]") {
  TestContext context;
  CUdeviceptr one = 0;
  CUdeviceptr two = 0;
  DRIVER_OK(cuModuleGetGlobal_v2(&one, nullptr, load_kernels(), "table"));
  DRIVER_OK(cuModuleGetGlobal_v2(&two, nullptr, load_kernels(), "table"));
  CHECK(one != two);
}

TEST_CASE("machine code is refused as having no binary for this GPU", "[simgpu][module]") {
  TestContext context;
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, kCubin) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("what is no image at all is refused as such", "[simgpu][module]") {
  TestContext context;
  CUmodule module = nullptr;
  const char noise[16] = {1, 2, 3, 4};
  CHECK(cuModuleLoadData(&module, noise) == CUDA_ERROR_INVALID_IMAGE);
  CHECK(cuModuleLoadData(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleLoadData(nullptr, kKernels) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("PTX that cannot be read explains itself in the program's log buffer", "[simgpu][module]") {
  TestContext context;
  CUmodule module = nullptr;
  char log[256];
  std::memset(log, 'x', sizeof log);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(std::uintptr_t{32})};
  CHECK(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_80\n.address_size 64\n.nonsense", 2, options, values) ==
        CUDA_ERROR_INVALID_PTX);
  CHECK(std::strlen(log) == 31);  // cut to the buffer, with its zero
  CHECK(log[32] == 'x');
  CHECK(reinterpret_cast<std::uintptr_t>(values[1]) == 31);
  options[0] = static_cast<CUjit_option>(99);
  CHECK(cuModuleLoadDataEx(&module, kKernels, 2, options, values) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a container's PTX is found and runs", "[simgpu][module]") {
  TestContext context;
  Words words(1);
  const std::string image = fat_binary_of(kKernels);
  CUmodule module = nullptr;
  DRIVER_OK(cuModuleLoadFatBinary(&module, image.data()));
  DRIVER_OK(launch_store(kernel(module, "store"), words.address(), 6, nullptr));
  DRIVER_OK(cuCtxSynchronize());
  CHECK(words[0] == 6);
}

TEST_CASE("a damaged container is no container", "[simgpu][module]") {
  TestContext context;
  std::string image = fat_binary_of(kKernels);
  const std::uint64_t absurd = std::uint64_t{1} << 60;
  std::memcpy(image.data() + 24, &absurd, sizeof absurd);
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, image.data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("linking one text gives back the same bytes, which load", "[simgpu][module]") {
  TestContext context;
  CUlinkState link = nullptr;
  void* image = nullptr;
  std::size_t size = 0;
  std::string text = kKernels;
  DRIVER_OK(cuLinkCreate_v2(0, nullptr, nullptr, &link));
  DRIVER_OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "kernels", 0, nullptr, nullptr));
  DRIVER_OK(cuLinkComplete(link, &image, &size));
  CHECK(std::string(static_cast<const char*>(image)) == text);
  CUmodule module = nullptr;
  DRIVER_OK(cuModuleLoadData(&module, image));
  kernel(module, "add_one");
  DRIVER_OK(cuLinkDestroy(link));
  CHECK(cuLinkDestroy(link) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a module is loaded from a file, and a missing file says so", "[simgpu][module]") {
  TestContext context;
  const std::string path = std::string(std::getenv("SIMGPU_DIR")) + "/kernels.ptx";
  std::ofstream(path) << kKernels;
  CUmodule module = nullptr;
  DRIVER_OK(cuModuleLoad(&module, path.c_str()));
  kernel(module, "store");
  CHECK(cuModuleLoad(&module, (path + ".gone").c_str()) == CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_CASE("a library's kernel works in every context, also where a function is asked for", "[simgpu][module]") {
  TestContext first;
  CUlibrary library = nullptr;
  CUkernel store = nullptr;
  DRIVER_OK(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0));
  DRIVER_OK(cuLibraryGetKernel(&store, library, "store"));
  for (int i = 0; i < 2; ++i) {
    TestContext context;
    Words words(1);
    CUfunction function = nullptr;
    int threads = 0;
    DRIVER_OK(launch_store(reinterpret_cast<CUfunction>(store), words.address(), 5, nullptr));
    DRIVER_OK(cuCtxSynchronize());
    CHECK(words[0] == 5);
    DRIVER_OK(cuKernelGetFunction(&function, store));
    DRIVER_OK(launch_store(function, words.address(), 6, nullptr));
    DRIVER_OK(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, store, 0));
    CHECK(threads == 1024);
  }
  unsigned count = 0;
  DRIVER_OK(cuLibraryGetKernelCount(&count, library));
  CHECK(count == 3);
  DRIVER_OK(cuLibraryUnload(library));
  CHECK(cuLibraryGetKernel(&store, library, "store") == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a function of one context is not launched in another", "[simgpu][module]") {
  TestContext first;
  const CUfunction store = kernel(load_kernels(), "store");
  TestContext second;
  Words words(1);
  CHECK(launch_store(store, words.address(), 1, nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("occupancy follows threads and shared memory", "[simgpu][module]") {
  TestContext context;
  const CUfunction add_one = kernel(load_kernels(), "add_one");
  int full = 0;
  int narrow = 0;
  int crowded = 0;
  DRIVER_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&full, add_one, 1024, 0));
  DRIVER_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&narrow, add_one, 32, 0));
  DRIVER_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&crowded, add_one, 32, 40 * 1024));
  CHECK(full == 2);
  CHECK(narrow == 32);
  CHECK(crowded < narrow);
  int grid = 0;
  int block = 0;
  DRIVER_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add_one, nullptr, 0, 0));
  CHECK(block == 1024);
  CHECK(grid > 0);
}

TEST_CASE("more dynamic shared memory is had by asking for it", "[simgpu][module]") {
  TestContext context;
  const CUfunction add_one = kernel(load_kernels(), "add_one");
  Words words(1);
  CUdeviceptr address = words.address();
  std::uint32_t count = 1;
  void* arguments[] = {&address, &count};
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(add_one, 1, 1, 1, 1, 1, 1, shared, nullptr, arguments, nullptr);
  };
  CHECK(launch(48 * 1024) == CUDA_SUCCESS);
  CHECK(launch(64 * 1024) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuFuncSetAttribute(add_one, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
  CHECK(launch(64 * 1024) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(add_one, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncSetAttribute(add_one, CU_FUNC_ATTRIBUTE_NUM_REGS, 1) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuCtxSynchronize());
}
