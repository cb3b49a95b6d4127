// SPDX-License-Identifier: Apache-2.0
//
// Stands in while no translator is linked: every PTX is refused, with a log that says why.
#include <unistd.h>

#include "tools/simgpu/ptx/program.h"

namespace cupool::simgpu::ptx {

[[gnu::weak]] CompiledObject::~CompiledObject() {
  if (fd_ >= 0) close(fd_);
}

[[gnu::weak]] tl::expected<std::shared_ptr<Program>, LoadFailure> Program::load(std::span<const std::string_view>, Compiler&) {
  return tl::unexpected(LoadFailure{LoadError::compiler, "this build has no PTX translator"});
}
[[gnu::weak]] int Program::find_kernel(std::string_view) const {
  return -1;
}
[[gnu::weak]] int Program::find_global(std::string_view) const {
  return -1;
}
[[gnu::weak]] std::vector<std::byte> Program::initial_bytes(std::size_t, std::span<const std::uint64_t>) const {
  return {};
}

}  // namespace cupool::simgpu::ptx
