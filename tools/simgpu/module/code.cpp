// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/code.h"

#include <cstdlib>
#include <cstring>

#include "tools/simgpu/module/fat_binary.h"
#include "tools/simgpu/module/server_compiler.h"

namespace cupool::simgpu {
namespace {

constexpr char kElfMagic[4] = {0x7f, 'E', 'L', 'F'};
// Our own container for what cuLinkComplete hands out when several texts went in: this line, then per text its length as decimal
// digits, a newline and the text.
constexpr std::string_view kLinkMagic = "simgpu-linked 1\n";

// About as much device memory as a small module of machine code takes per byte of PTX.
constexpr std::size_t kBytesPerModule = 64 * 1024;

bool looks_like_text(const char* image) {
  for (int i = 0; i < 4; ++i) {
    const unsigned char c = static_cast<unsigned char>(image[i]);
    if (c == 0) return i > 0;
    if (c >= 0x80 || (c < 0x20 && c != '\n' && c != '\t' && c != '\r')) return false;
  }
  return true;
}

CUresult code_of(ptx::LoadError error, bool linked) {
  switch (error) {
    case ptx::LoadError::unsupported_version:
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case ptx::LoadError::unresolved:
      return linked ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_PTX;
    case ptx::LoadError::compiler:
      return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case ptx::LoadError::too_large:
    case ptx::LoadError::syntax:
    case ptx::LoadError::unsupported:
      return CUDA_ERROR_INVALID_PTX;
  }
  return CUDA_ERROR_INVALID_PTX;
}

std::vector<std::string> split_texts(const char* image) {
  std::vector<std::string> texts;
  const char* at = image + kLinkMagic.size();
  while (*at != 0) {
    char* end = nullptr;
    const unsigned long long length = std::strtoull(at, &end, 10);
    if (end == at || *end != '\n') break;
    texts.emplace_back(end + 1, length);
    at = end + 1 + length;
  }
  return texts;
}

CUresult accept_machine_code(std::shared_ptr<const Code>& code, std::string& log) {
  if (!accepts_machine_code()) {
    log = "simgpu runs PTX, and this image holds machine code only: give PTX, or set SIMGPU_CUBIN=null for kernels that do nothing";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto made = std::make_shared<Code>();
  made->bytes = kBytesPerModule;
  code = std::move(made);
  return CUDA_SUCCESS;
}

}  // namespace

bool accepts_machine_code() {
  static const bool accepts = [] {
    const char* setting = std::getenv("SIMGPU_CUBIN");
    return setting != nullptr && std::string_view(setting) == "null";
  }();
  return accepts;
}

ImageKind kind_of_image(const void* image) {
  const char* bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes, kElfMagic, sizeof kElfMagic) == 0) return ImageKind::cubin;
  if (is_fat_binary(image)) return ImageKind::fat_binary;
  if (std::strncmp(bytes, kLinkMagic.data(), kLinkMagic.size()) == 0) return ImageKind::link_output;
  return looks_like_text(bytes) ? ImageKind::ptx : ImageKind::unknown;
}

std::vector<std::string> texts_of(const void* image) {
  switch (kind_of_image(image)) {
    case ImageKind::ptx:
      return {std::string(static_cast<const char*>(image))};
    case ImageKind::link_output:
      return split_texts(static_cast<const char*>(image));
    case ImageKind::fat_binary: {
      std::string text = newest_ptx(image);
      if (text.empty()) return {};
      return {std::move(text)};
    }
    case ImageKind::cubin:
    case ImageKind::unknown:
      break;
  }
  return {};
}

std::string join_texts(std::span<const std::string> texts) {
  if (texts.size() == 1) return texts.front();
  std::string joined(kLinkMagic);
  for (const std::string& text : texts) joined += std::to_string(text.size()) + '\n' + text;
  return joined;
}

CUresult load_texts(std::span<const std::string_view> texts, std::shared_ptr<const Code>& code, std::string& log) {
  auto program = ptx::Program::load(texts, server_compiler());
  if (!program) {
    log = program.error().log;
    return code_of(program.error().error, texts.size() > 1);
  }
  auto made = std::make_shared<Code>();
  made->program = std::move(*program);
  made->bytes = kBytesPerModule;
  for (const std::string_view text : texts) made->bytes += text.size();
  code = std::move(made);
  return CUDA_SUCCESS;
}

CUresult load_code(const void* image, std::shared_ptr<const Code>& code, std::string& log) {
  if (kind_of_image(image) == ImageKind::unknown) {
    log = "neither PTX text nor an ELF file nor a fat binary";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  const std::vector<std::string> texts = texts_of(image);
  if (texts.empty()) return accept_machine_code(code, log);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return load_texts(views, code, log);
}

}  // namespace cupool::simgpu
