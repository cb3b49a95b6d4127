// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/physical.h"

#include <cstdlib>
#include <cstring>

#include "tools/simgpu/driver.h"

namespace cupool::simgpu {
namespace {

// SIMGPU_FILL: a byte that new memory is filled with, so that a program that relies on zeroes is found. -1: as it comes.
int fill_byte() {
  static const int value = [] {
    const char* text = std::getenv("SIMGPU_FILL");
    return text == nullptr || *text == '\0' ? -1 : static_cast<int>(std::strtoul(text, nullptr, 0) & 0xff);
  }();
  return value;
}

}  // namespace

CUresult code_of(const Error& error) {
  switch (error.code) {
    case Errc::no_memory:
    case Errc::no_space:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case Errc::not_found:
    case Errc::invalid_argument:
      return CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_UNKNOWN;
  }
}

std::shared_ptr<Physical> Physical::create(std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose, std::uint32_t flags,
                                           std::uint64_t word, CUresult& error) {
  auto grant = driver().connection().allocate(gpu, bytes, purpose, flags, word);
  if (!grant) {
    error = code_of(grant.error());
    return nullptr;
  }
  grant->word = word;
  grant->purpose = purpose;
  auto physical = adopt(std::move(*grant), error);
  if (physical != nullptr && fill_byte() >= 0 && physical->data() != nullptr) std::memset(physical->data(), fill_byte(), bytes);
  return physical;
}

std::shared_ptr<Physical> Physical::adopt(Grant grant, CUresult& error) {
  std::shared_ptr<Physical> physical{new Physical};
  // From here on the destructor gives the reference back.
  physical->handle_ = grant.handle;
  physical->bytes_ = grant.bytes;
  physical->gpu_ = grant.gpu;
  physical->word_ = grant.word;
  physical->purpose_ = grant.purpose;
  if (grant.memory) {
    auto window = Window::open(grant.memory, grant.bytes);
    if (!window) {
      error = CUDA_ERROR_OUT_OF_MEMORY;
      return nullptr;
    }
    physical->window_ = std::move(*window);
  }
  return physical;
}

Physical::~Physical() {
  window_.close();
  if (handle_ != 0) driver().connection().release(handle_);
}

}  // namespace cupool::simgpu
