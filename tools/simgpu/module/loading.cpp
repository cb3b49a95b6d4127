// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/loading.h"

#include "policy/base/log.h"
#include "tools/simgpu/exec/scheduler.h"

namespace cupool::simgpu {

CUresult load_with_options(const void* image, const JitOptions& options, std::shared_ptr<const Code>& code) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult valid = options.check(); valid != CUDA_SUCCESS) return valid;
  const std::uint64_t began = steady_now_ns();
  std::string log;
  const CUresult loaded = load_code(image, code, log);
  options.write_error_log(log);
  options.write_info_log({});
  options.write_wall_time(static_cast<float>(static_cast<double>(steady_now_ns() - began) / 1e6));
  if (loaded != CUDA_SUCCESS) {
    static log::Budget budget(16);
    log::write(log::Level::warning, budget, "simgpu: a module cannot be loaded: " + log);
  }
  return loaded;
}

}  // namespace cupool::simgpu
