// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shim/abi/cuda_types.h"

namespace cupool::simgpu {

/// Reads a file whole. CUDA_ERROR_FILE_NOT_FOUND (301) when it cannot be opened, CUDA_ERROR_INVALID_VALUE for a null name.
CUresult read_image(const char* path, std::string& image);

}  // namespace cupool::simgpu
