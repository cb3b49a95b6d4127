// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/real_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "tools/simgpu/server/descriptor.h"

namespace cupool::simgpu {

std::uint64_t real_memory_available(int meminfo) {
  char text[1024];
  const ssize_t length = pread(meminfo, text, sizeof text - 1, 0);
  if (length <= 0) return std::numeric_limits<std::uint64_t>::max();
  text[length] = '\0';
  const char* line = std::strstr(text, "MemAvailable:");
  if (line == nullptr) return std::numeric_limits<std::uint64_t>::max();
  return std::strtoull(line + sizeof "MemAvailable:" - 1, nullptr, 10) * 1024;
}

std::uint64_t real_memory_available() {
  const Descriptor meminfo{open("/proc/meminfo", O_RDONLY | O_CLOEXEC)};
  return real_memory_available(meminfo.get());
}

}  // namespace cupool::simgpu
