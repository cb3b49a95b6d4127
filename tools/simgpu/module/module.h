// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/charge.h"
#include "tools/simgpu/module/code.h"
#include "tools/simgpu/module/function.h"

/// The object behind a CUmodule.
struct CUmod_st {};

namespace cupool::simgpu {

/// Code loaded into one context: its kernels, and its variables in that device's memory. Thread-safe.
class Module : public CUmod_st, public std::enable_shared_from_this<Module> {
 public:
  struct Variable {
    CUdeviceptr address = 0;
    std::size_t size = 0;
  };

  /// Takes memory for the code and its variables. CUDA_ERROR_OUT_OF_MEMORY when there is none.
  static CUresult load(Context& context, std::shared_ptr<const Code> code, std::shared_ptr<Module>& module);
  ~Module();

  Context& context() const { return context_; }
  const Code& code() const { return *code_; }

  /// CUDA_ERROR_NOT_FOUND (500) for a name that the code does not have.
  CUresult function(std::string_view name, std::shared_ptr<Function>& function);
  std::shared_ptr<Function> function_at(std::size_t index);
  std::size_t function_count() const;
  CUresult variable(std::string_view name, Variable& variable) const;

 private:
  Module(Context& context, std::shared_ptr<const Code> code);
  CUresult place_variables();

  Context& context_;
  const std::shared_ptr<const Code> code_;
  Charge code_memory_;
  std::vector<std::uint64_t> addresses_;
  std::shared_ptr<ptx::Instance> instance_;
  std::mutex mutex_;  // guards functions_
  std::unordered_map<std::string, std::shared_ptr<Function>> functions_;
};

}  // namespace cupool::simgpu
