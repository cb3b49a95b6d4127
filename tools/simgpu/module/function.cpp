// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/function.h"

#include <algorithm>

#include "tools/simgpu/context.h"
#include "tools/simgpu/module/device_value.h"
#include "tools/simgpu/module/module.h"

namespace cupool::simgpu {
namespace {

// Without asking for more, a kernel may have this much shared memory on every model.
constexpr std::uint32_t kOrdinarySharedBytes = 48 * 1024;

int compute_version(const Device& device) {
  return 10 * device_value(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8) +
         device_value(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
}

std::uint64_t round_to(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

std::uint32_t Function::max_dynamic_shared() const {
  int value = 0;
  attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, value);
  return static_cast<std::uint32_t>(value);
}

CUresult Function::attribute(CUfunction_attribute which, int& value) const {
  const std::lock_guard lock(mutex_);
  if (const auto set = settings_.find(which); set != settings_.end()) {
    value = set->second;
    return CUDA_SUCCESS;
  }
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = static_cast<int>(info_.max_threads);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      value = static_cast<int>(info_.shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      value = static_cast<int>(info_.const_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      value = static_cast<int>(info_.local_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      value = static_cast<int>(std::max<std::uint32_t>(info_.registers, 16));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      // The version that the code was written for, as a compute capability.
      value = info_.target != 0 ? static_cast<int>(info_.target) : compute_version(context_.device());
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      value = compute_version(context_.device());
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = static_cast<int>(kOrdinarySharedBytes - std::min(info_.shared_bytes, kOrdinarySharedBytes));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = CU_SHAREDMEM_CARVEOUT_DEFAULT;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Function::set_attribute(CUfunction_attribute which, int value) {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = device_value(context_.device(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kOrdinarySharedBytes);
      if (value < 0 || value + static_cast<int>(info_.shared_bytes) > most) return CUDA_ERROR_INVALID_VALUE;
      break;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < CU_SHAREDMEM_CARVEOUT_DEFAULT || value > CU_SHAREDMEM_CARVEOUT_MAX_SHARED) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(mutex_);
  settings_[which] = value;
  return CUDA_SUCCESS;
}

int resident_blocks(const Function& function, const Device& device, unsigned block_threads, std::uint64_t dynamic_shared) {
  if (block_threads == 0 || block_threads > function.info().max_threads) return 0;
  constexpr std::uint64_t kRegisterStep = 256;  // registers are given out per warp in this step on all models since Volta
  const std::uint64_t warps = (block_threads + 31) / 32;
  int registers = 0;
  function.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, registers);
  const std::uint64_t block_registers = warps * round_to(static_cast<std::uint64_t>(registers) * 32, kRegisterStep);
  const std::uint64_t reserved =
      static_cast<std::uint64_t>(device_value(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024));
  const std::uint64_t block_shared = round_to(function.info().shared_bytes + dynamic_shared + reserved, 128);
  const auto of_device = [&](CUdevice_attribute attribute, int otherwise) {
    return static_cast<std::uint64_t>(device_value(device, attribute, otherwise));
  };
  std::uint64_t blocks = of_device(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32);
  blocks = std::min(blocks, of_device(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048) / (warps * 32));
  blocks = std::min(blocks, of_device(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536) / block_registers);
  blocks = std::min(blocks, of_device(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 102400) / block_shared);
  return static_cast<int>(blocks);
}

}  // namespace cupool::simgpu
