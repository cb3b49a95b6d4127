// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

/// The options of a load or link call: two parallel arrays that the program owns and that carry results back.
class JitOptions {
 public:
  JitOptions() = default;
  JitOptions(unsigned count, CUjit_option* options, void** values) : count_(count), options_(options), values_(values) {}

  /// CUDA_ERROR_INVALID_VALUE for an option that does not exist, or arrays that are missing.
  CUresult check() const;

  /// Writes text into the error or info log buffer, if the program gave one, with its length into the size option.
  void write_error_log(std::string_view text) const {
    write_log(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, text);
  }
  void write_info_log(std::string_view text) const { write_log(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, text); }
  void write_wall_time(float milliseconds) const;

 private:
  void write_log(CUjit_option buffer, CUjit_option size, std::string_view text) const;
  void** value_of(CUjit_option option) const;

  unsigned count_ = 0;
  CUjit_option* options_ = nullptr;
  void** values_ = nullptr;
};

}  // namespace cupool::simgpu
