// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/jit_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cupool::simgpu {

CUresult JitOptions::check() const {
  if (count_ == 0) return CUDA_SUCCESS;
  if (options_ == nullptr || values_ == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count_; ++i) {
    if (static_cast<unsigned>(options_[i]) >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void** JitOptions::value_of(CUjit_option option) const {
  for (unsigned i = 0; i < count_; ++i) {
    if (options_[i] == option) return values_ + i;
  }
  return nullptr;
}

void JitOptions::write_log(CUjit_option buffer, CUjit_option size, std::string_view text) const {
  void** const target = value_of(buffer);
  void** const room = value_of(size);
  if (target == nullptr || room == nullptr) return;
  // Sizes are passed by value in the pointer's own bits, as 32-bit numbers; the number of bytes written goes back the same way.
  const std::size_t capacity = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(*room));
  std::size_t written = 0;
  if (*target != nullptr && capacity > 0) {
    written = std::min(text.size(), capacity - 1);
    std::memcpy(*target, text.data(), written);
    static_cast<char*>(*target)[written] = 0;
  }
  *room = reinterpret_cast<void*>(static_cast<std::uintptr_t>(written));
}

void JitOptions::write_wall_time(float milliseconds) const {
  if (void** const value = value_of(CU_JIT_WALL_TIME); value != nullptr) std::memcpy(value, &milliseconds, sizeof milliseconds);
}

}  // namespace cupool::simgpu
