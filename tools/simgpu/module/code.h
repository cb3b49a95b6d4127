// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/ptx/program.h"

namespace cupool::simgpu {

/// What an image given to the driver holds.
enum class ImageKind {
  ptx,
  cubin,        ///< machine code: an ELF file
  fat_binary,   ///< a container of both
  link_output,  ///< what cuLinkComplete hands out here: PTX texts one after another
  unknown,
};
ImageKind kind_of_image(const void* image);

/// Loadable code, independent of any context: a PTX program, or, with SIMGPU_CUBIN=null, machine code whose kernels do nothing.
class Code {
 public:
  /// A program; null for machine code.
  std::shared_ptr<ptx::Program> program;
  std::size_t bytes = 0;  ///< about what it takes on the device
  bool is_null() const { return program == nullptr; }
};

/// Reads an image of any kind. The length is found in the image, as the driver finds it: PTX ends with a zero byte, containers say
/// it. `log` receives what belongs into the JIT error log. CUDA_ERROR_NO_BINARY_FOR_GPU (209) for machine code,
/// CUDA_ERROR_INVALID_IMAGE (200) for what is none of these, CUDA_ERROR_INVALID_PTX (218) and its kin for PTX that cannot be
/// loaded.
CUresult load_code(const void* image, std::shared_ptr<const Code>& code, std::string& log);

/// The same from PTX texts that refer to one another.
CUresult load_texts(std::span<const std::string_view> texts, std::shared_ptr<const Code>& code, std::string& log);

/// All PTX texts of an image (of a container: the newest that this driver can read). Empty when it holds machine code alone.
std::vector<std::string> texts_of(const void* image);

/// Machine code is accepted as kernels that do nothing (SIMGPU_CUBIN=null).
bool accepts_machine_code();

/// One image that holds several PTX texts: what cuLinkComplete gives out, and load_code() takes. A single text stays as it is.
std::string join_texts(std::span<const std::string> texts);

}  // namespace cupool::simgpu
