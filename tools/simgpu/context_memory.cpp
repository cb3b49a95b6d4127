// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/context_memory.h"

#include <cstdlib>

#include "tools/simgpu/context.h"
#include "tools/simgpu/imported_memory.h"
#include "tools/simgpu/machine_config.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/pool.h"

namespace cupool::simgpu {

std::uint64_t context_overhead_bytes(const Device& device) {
  static const auto chosen = [] {
    const char* text = std::getenv("SIMGPU_CONTEXT_MEMORY");
    return text == nullptr || *text == '\0' ? Result<std::uint64_t>(fail(Errc::not_found)) : parse_size(text);
  }();
  return chosen ? *chosen : device.model->context_bytes;
}

void free_context_memory(Context& context) {
  for (const Block& block : memory().drop_context(context.id())) {
    for (unsigned i = 0; i < block.opened; ++i) imported_memory().close(block.physical->handle());
  }
}

}  // namespace cupool::simgpu
