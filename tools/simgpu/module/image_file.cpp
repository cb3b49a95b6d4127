// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/image_file.h"

#include <cstdio>
#include <memory>

namespace cupool::simgpu {

CUresult read_image(const char* path, std::string& image) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "rbe"), std::fclose);
  if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
  char part[16384];
  std::size_t got = 0;
  while ((got = std::fread(part, 1, sizeof part, file.get())) > 0) image.append(part, got);
  return std::ferror(file.get()) != 0 ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
