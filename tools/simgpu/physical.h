// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/client/connection.h"
#include "tools/simgpu/window.h"

namespace cupool::simgpu {

/// One piece of physical memory as this process holds it: the server's handle and a window onto it. Shared by the handles and
/// mappings that refer to it; the last of them gives the process's reference back to the server.
class Physical {
 public:
  /// `error` says why there is none: CUDA_ERROR_OUT_OF_MEMORY, or CUDA_ERROR_UNKNOWN when the server is gone.
  static std::shared_ptr<Physical> create(std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose, std::uint32_t flags,
                                          std::uint64_t word, CUresult& error);
  /// Takes a grant over, from an import.
  static std::shared_ptr<Physical> adopt(Grant grant, CUresult& error);

  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  std::uint64_t handle() const { return handle_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t gpu() const { return gpu_; }
  std::uint64_t word() const { return word_; }
  protocol::Purpose purpose() const { return purpose_; }
  std::byte* data() const { return window_.data(); }

  std::uint64_t nonce = 0;  ///< with which other processes open it, once published (imported_memory.h)

 private:
  Physical() = default;
  std::uint64_t handle_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t word_ = 0;
  std::uint32_t gpu_ = 0;
  protocol::Purpose purpose_{};
  Window window_;
};

/// The CUDA code of an error of the connection.
CUresult code_of(const Error& error);

}  // namespace cupool::simgpu
