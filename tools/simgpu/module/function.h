// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/operation.h"
#include "tools/simgpu/ptx/program.h"

/// The object behind a CUfunction.
struct CUfunc_st {};

namespace cupool::simgpu {

class Module;
struct Device;

/// A kernel of a loaded module. A null kernel (from machine code, SIMGPU_CUBIN=null) has no program behind it and computes nothing.
class Function : public CUfunc_st {
 public:
  Function(std::weak_ptr<Module> module, Context& context, std::uint32_t index, const ptx::KernelInfo& info,
           std::shared_ptr<ptx::Instance> instance)
      : module_(std::move(module)), context_(context), index_(index), info_(info), instance_(std::move(instance)) {}

  std::shared_ptr<Module> module() const { return module_.lock(); }
  Context& context() const { return context_; }
  const ptx::KernelInfo& info() const { return info_; }
  bool is_null_kernel() const { return instance_ == nullptr; }
  ptx::Instance* instance() const { return instance_.get(); }
  std::uint32_t index() const { return index_; }

  /// CUDA_ERROR_INVALID_VALUE for an attribute that does not exist or a value that it cannot take.
  CUresult attribute(CUfunction_attribute which, int& value) const;
  CUresult set_attribute(CUfunction_attribute which, int value);
  std::uint32_t max_dynamic_shared() const;

  /// What the pre-4.0 launch calls collect. Guarded by `legacy_mutex`.
  struct LegacyLaunch {
    unsigned block[3] = {1, 1, 1};
    unsigned shared_bytes = 0;
    std::vector<std::byte> parameters;
  };
  std::mutex legacy_mutex;
  LegacyLaunch legacy;

 private:
  std::weak_ptr<Module> module_;
  Context& context_;
  const std::uint32_t index_;
  const ptx::KernelInfo info_;
  const std::shared_ptr<ptx::Instance> instance_;
  mutable std::mutex mutex_;
  std::map<CUfunction_attribute, int> settings_;
};

/// What a launch call or a kernel node says, unchecked.
struct LaunchRequest {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes = 0;
  bool cooperative = false;
  void** parameters = nullptr;  ///< kernelParams
  void** extra = nullptr;
};

/// Checks a launch against the kernel and the device and copies its parameters. CUDA_ERROR_INVALID_VALUE (1) for shapes and
/// parameter lists that make no sense, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701) for more threads or shared memory than the kernel
/// may have, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720).
CUresult prepare_launch(const std::shared_ptr<Function>& function, const LaunchRequest& request, KernelOperation& operation);

/// Runs a prepared launch to its end. The code of a fault, which is the context's end.
CUresult launch_now(const KernelOperation& operation, Context& context);

/// How long the simulated device is busy with it.
std::uint64_t kernel_cost_ns(const KernelOperation& operation, const Device& device);

/// Blocks of this kernel that fit one multiprocessor at a time.
int resident_blocks(const Function& function, const Device& device, unsigned block_threads, std::uint64_t dynamic_shared);

}  // namespace cupool::simgpu
