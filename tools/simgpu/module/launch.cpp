// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "policy/base/log.h"
#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/stream_object.h"
#include "tools/simgpu/module/device_value.h"
#include "tools/simgpu/module/function.h"
#include "tools/simgpu/module/kernel_memory.h"
#include "tools/simgpu/read_scope.h"

namespace cupool::simgpu {
namespace {

std::uint64_t product(const unsigned (&dims)[3]) {
  return std::uint64_t{dims[0]} * dims[1] * dims[2];
}

CUresult check_shape(const Function& function, const LaunchRequest& request) {
  const Device& device = function.context().device();
  const auto limit = [&](int axis, CUdevice_attribute first, const int(&otherwise)[3]) {
    const auto attribute = static_cast<CUdevice_attribute>(static_cast<int>(first) + axis);
    return static_cast<unsigned>(device_value(device, attribute, otherwise[axis]));
  };
  for (int axis = 0; axis < 3; ++axis) {
    if (request.grid[axis] == 0 || request.block[axis] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (request.grid[axis] > limit(axis, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, {2147483647, 65535, 65535}))
      return CUDA_ERROR_INVALID_VALUE;
    if (request.block[axis] > limit(axis, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, {1024, 1024, 64})) return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t threads = product(request.block);
  if (threads > static_cast<std::uint64_t>(device_value(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Within the device's limit but not the kernel's own (.maxntid): the launch lacks resources.
  if (threads > function.info().max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const auto& required = function.info().required_block;
  if (required[0] != 0 && std::memcmp(required, request.block, sizeof request.block) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (request.shared_bytes > function.max_dynamic_shared()) return CUDA_ERROR_INVALID_VALUE;
  if (request.cooperative) {
    const std::uint64_t room =
        static_cast<std::uint64_t>(resident_blocks(function, device, static_cast<unsigned>(threads), request.shared_bytes)) *
        static_cast<std::uint64_t>(device_value(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
    if (product(request.grid) > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

// `extra`: pairs of a key and a value, ended by CU_LAUNCH_PARAM_END.
CUresult read_extra(void** extra, const void*& buffer, std::size_t& size) {
  const std::size_t* given = nullptr;
  constexpr int kMostPairs = 8;
  for (int i = 0; i < kMostPairs; ++i) {
    if (extra[2 * i] == CU_LAUNCH_PARAM_END) {
      if (given == nullptr) return buffer == nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      size = *given;
      return CUDA_SUCCESS;
    }
    if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[2 * i + 1];
    } else if (extra[2 * i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      given = static_cast<const std::size_t*>(extra[2 * i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_parameters(const ptx::KernelInfo& kernel, const LaunchRequest& request, std::vector<std::byte>& parameters) {
  if (request.parameters != nullptr && request.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  parameters.assign(kernel.parameter_bytes, std::byte{0});
  if (kernel.parameters.empty()) return CUDA_SUCCESS;
  if (request.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    const CUresult read = read_extra(request.extra, buffer, size);
    if (read != CUDA_SUCCESS) return read;
    const ptx::Parameter& last = kernel.parameters.back();
    if (buffer == nullptr || size < last.offset + last.size) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(parameters.data(), buffer, std::min<std::size_t>(size, parameters.size()));
    return CUDA_SUCCESS;
  }
  if (request.parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (request.parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(parameters.data() + kernel.parameters[i].offset, request.parameters[i], kernel.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult code_of(ptx::Outcome::Kind kind) {
  switch (kind) {
    case ptx::Outcome::Kind::ok:
      return CUDA_SUCCESS;
    case ptx::Outcome::Kind::illegal_address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::Outcome::Kind::misaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case ptx::Outcome::Kind::trap:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case ptx::Outcome::Kind::assert_failed:
      return CUDA_ERROR_ASSERT;
    case ptx::Outcome::Kind::stopped:
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    case ptx::Outcome::Kind::timeout:
    case ptx::Outcome::Kind::deadlock:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ptx::Outcome::Kind::invalid_launch:
    case ptx::Outcome::Kind::unsupported:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

// SIMGPU_KERNEL_LIMIT: seconds that one launch may take; none by default, as on hardware without a display.
std::chrono::milliseconds kernel_limit() {
  static const std::chrono::milliseconds limit = [] {
    const char* setting = std::getenv("SIMGPU_KERNEL_LIMIT");
    return std::chrono::milliseconds(setting == nullptr ? 0 : static_cast<long>(std::strtod(setting, nullptr) * 1000));
  }();
  return limit;
}

bool checks_accesses() {
  static const bool checks = [] {
    const char* setting = std::getenv("SIMGPU_CHECK");
    return setting != nullptr && std::string_view(setting) == "1";
  }();
  return checks;
}

// A kernel's printf appears in the program's own output, as it does with hardware.
void print_for_kernel(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void say_that_nothing_is_computed(const std::string& kernel) {
  static log::Budget once(1);
  log::write(log::Level::warning, once,
             "simgpu: kernel " + kernel + " is machine code: it takes its place in the stream and computes nothing");
}

}  // namespace

CUresult prepare_launch(const std::shared_ptr<Function>& function, const LaunchRequest& request, KernelOperation& operation) {
  CUresult code = check_shape(*function, request);
  if (code == CUDA_SUCCESS && !function->is_null_kernel()) code = copy_parameters(function->info(), request, operation.parameters);
  if (code != CUDA_SUCCESS) return code;
  operation.function = function;
  std::memcpy(operation.grid, request.grid, sizeof operation.grid);
  std::memcpy(operation.block, request.block, sizeof operation.block);
  operation.shared_bytes = request.shared_bytes;
  operation.cooperative = request.cooperative;
  return CUDA_SUCCESS;
}

CUresult launch_now(const KernelOperation& operation, Context& context) {
  Function& function = *operation.function;
  if (function.is_null_kernel()) {
    say_that_nothing_is_computed(function.info().name);
    return CUDA_SUCCESS;
  }
  const ReadScope scope;
  KernelMemory memory(context);
  ptx::Launch launch;
  launch.kernel = function.index();
  launch.grid = {operation.grid[0], operation.grid[1], operation.grid[2]};
  launch.block = {operation.block[0], operation.block[1], operation.block[2]};
  launch.dynamic_shared_bytes = operation.shared_bytes;
  launch.parameters = operation.parameters;
  ptx::LaunchControl control;
  control.stop = &streams_of(context).stop_flag();
  control.limit = kernel_limit();
  control.check = checks_accesses();
  control.print = print_for_kernel;
  const ptx::Outcome outcome = function.instance()->launch(launch, memory, control);
  if (outcome.kind != ptx::Outcome::Kind::ok && outcome.kind != ptx::Outcome::Kind::stopped) {
    static log::Budget budget(16);
    log::write(log::Level::warning, budget, "simgpu: kernel " + function.info().name + ": " + outcome.message);
  }
  return code_of(outcome.kind);
}

std::uint64_t kernel_cost_ns(const KernelOperation& operation, const Device& device) {
  // An estimate: a kernel takes 2 us, and that again for each time the device is filled with threads.
  constexpr std::uint64_t kWaveNs = 2'000;
  const std::uint64_t threads = product(operation.grid) * product(operation.block);
  const std::uint64_t at_a_time =
      static_cast<std::uint64_t>(device_value(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1)) *
      static_cast<std::uint64_t>(device_value(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048));
  return kWaveNs * (1 + threads / at_a_time);
}

}  // namespace cupool::simgpu
