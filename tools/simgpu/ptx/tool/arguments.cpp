// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/tool/arguments.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace cupool::simgpu::ptx {
namespace {

bool is_supported(Type type) {
  return type.lanes == 1 && (type == kF32 || type == kF64 || (type.is_integer() && type.width >= 8 && type.width <= 64));
}

/// The bits of a number written in decimal or hexadecimal; nothing if it is none.
std::optional<std::uint64_t> number(const std::string& text, Type type) {
  char* end = nullptr;
  std::uint64_t bits = 0;
  if (type == kF32) {
    const float value = std::strtof(text.c_str(), &end);
    std::memcpy(&bits, &value, sizeof value);
  } else if (type == kF64) {
    const double value = std::strtod(text.c_str(), &end);
    std::memcpy(&bits, &value, sizeof value);
  } else if (text.starts_with('-')) {
    bits = static_cast<std::uint64_t>(std::strtoll(text.c_str(), &end, 0));
  } else {
    bits = std::strtoull(text.c_str(), &end, 0);
  }
  if (text.empty() || *end != '\0') return std::nullopt;
  return bits;
}

tl::unexpected<std::string> wrong(const std::string& text, const std::string& why) {
  return tl::unexpected<std::string>("argument '" + text + "': " + why);
}

/// "f32[8]=iota".
tl::expected<Arguments::Buffer, std::string> make_buffer(const std::string& text, BlockMemory& memory) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  const auto type = type_from_word(text.substr(0, open));
  if (!type || !is_supported(*type) || close == std::string::npos) return wrong(text, "expected TYPE[COUNT]=FILL");
  const auto count = number(text.substr(open + 1, close - open - 1), kU64);
  if (!count || *count == 0 || *count > (1U << 28)) return wrong(text, "the count is out of range");
  Arguments::Buffer buffer{0, static_cast<std::size_t>(*count), *type};
  buffer.address = memory.allocate(buffer.count * type->bytes());
  std::string fill = close + 1 < text.size() && text[close + 1] == '=' ? text.substr(close + 2) : "0";
  std::byte* out = memory.host(buffer.address);
  for (std::size_t i = 0, at = 0; i < buffer.count; ++i) {
    std::string item = fill;
    if (fill == "iota") {
      item = std::to_string(i);
    } else if (fill.find(',') != std::string::npos) {
      const std::size_t end = std::min(fill.find(',', at), fill.size());
      item = at <= fill.size() ? fill.substr(at, end - at) : "0";
      at = end + 1;
    }
    const auto bits = number(item, *type);
    if (!bits) return wrong(text, "'" + item + "' is not a number");
    std::memcpy(out + i * type->bytes(), &*bits, type->bytes());
  }
  return buffer;
}

}  // namespace

tl::expected<Arguments, std::string> make_arguments(const std::vector<std::string>& texts, const KernelInfo& kernel,
                                                    BlockMemory& memory) {
  if (texts.size() != kernel.parameters.size()) {
    return tl::unexpected<std::string>("kernel '" + kernel.name + "' has " + std::to_string(kernel.parameters.size()) +
                                       " parameters, " + std::to_string(texts.size()) + " arguments are given (--arg)");
  }
  Arguments arguments;
  arguments.buffer.resize(kernel.parameter_bytes);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::uint64_t bits = 0;
    std::uint32_t size = 8;
    if (texts[i].find('[') != std::string::npos) {
      auto buffer = make_buffer(texts[i], memory);
      if (!buffer) return tl::unexpected<std::string>(buffer.error());
      bits = buffer->address;
      arguments.buffers.push_back(*buffer);
    } else {
      const std::size_t colon = texts[i].find(':');
      const auto type = type_from_word(texts[i].substr(0, colon));
      if (!type || !is_supported(*type) || colon == std::string::npos) return wrong(texts[i], "expected TYPE:VALUE");
      const auto value = number(texts[i].substr(colon + 1), *type);
      if (!value) return wrong(texts[i], "not a number");
      bits = *value;
      size = type->bytes();
    }
    const Parameter& parameter = kernel.parameters[i];
    if (parameter.size != size) return wrong(texts[i], "the parameter has " + std::to_string(parameter.size) + " bytes");
    std::memcpy(arguments.buffer.data() + parameter.offset, &bits, size);
  }
  return arguments;
}

void print_arguments(const Arguments& arguments, BlockMemory& memory) {
  for (const Arguments::Buffer& buffer : arguments.buffers) {
    std::printf("%s[%zu] =", to_text(buffer.type).c_str(), buffer.count);
    const std::byte* at = memory.host(buffer.address);
    for (std::size_t i = 0; i < buffer.count; ++i, at += buffer.type.bytes()) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, at, buffer.type.bytes());
      if (buffer.type == kF32) {
        float value = 0;
        std::memcpy(&value, at, sizeof value);
        std::printf(" %.9g", static_cast<double>(value));
      } else if (buffer.type == kF64) {
        double value = 0;
        std::memcpy(&value, at, sizeof value);
        std::printf(" %.17g", value);
      } else if (buffer.type.is_signed()) {
        const std::uint32_t unused = 64 - buffer.type.bits();
        std::printf(" %" PRId64, static_cast<std::int64_t>(bits << unused) >> unused);
      } else {
        std::printf(" %" PRIu64, bits);
      }
    }
    std::printf("\n");
  }
}

}  // namespace cupool::simgpu::ptx
