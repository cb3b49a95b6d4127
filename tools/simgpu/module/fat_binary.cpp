// SPDX-License-Identifier: Apache-2.0
//
// The container's layout as the CUDA 13.0 toolkit writes it (observed: `nvcc -fatbin` with and without --no-compress): a header of
// 16 bytes, then entries, each a header that says its own length and a payload.
#include "tools/simgpu/module/fat_binary.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tools/simgpu/module/lz4_block.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kContainerMagic = 0xba55ed50;
constexpr std::uint16_t kPtxEntry = 1;
constexpr std::uint64_t kPackedLz4 = 0x2000;
constexpr std::uint64_t kPackedZstd = 0x8000;
// No single text is anywhere near this large: a damaged header must not make us allocate without bound.
constexpr std::uint64_t kMostTextBytes = std::uint64_t{256} << 20;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* container;
};

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint32_t packed_bytes;
  std::uint32_t unknown;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint64_t name;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t unpacked_bytes;
};
static_assert(sizeof(Entry) == 0x40);

template <class T>
T read_at(const void* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

const std::byte* container_of(const void* image) {
  const auto magic = read_at<std::uint32_t>(image);
  if (magic == kContainerMagic) return static_cast<const std::byte*>(image);
  if (magic != kWrapperMagic) return nullptr;
  const void* const container = read_at<Wrapper>(image).container;
  return container != nullptr && read_at<std::uint32_t>(container) == kContainerMagic ? static_cast<const std::byte*>(container)
                                                                                      : nullptr;
}

// The zstd library is opened, not linked: only containers packed that way need it, and a host program may have none.
std::string unpack_zstd(const std::byte* packed, std::size_t packed_bytes, std::size_t unpacked_bytes) {
  using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static const Decompress decompress = [] {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress"));
  }();
  std::string text(unpacked_bytes, '\0');
  if (decompress == nullptr || decompress(text.data(), text.size(), packed, packed_bytes) != unpacked_bytes) return {};
  return text;
}

std::string text_of(const Entry& entry, const std::byte* payload) {
  std::string text;
  if ((entry.flags & (kPackedLz4 | kPackedZstd)) == 0) {
    text.assign(reinterpret_cast<const char*>(payload), entry.payload_bytes);
  } else if (entry.unpacked_bytes <= kMostTextBytes && entry.packed_bytes <= entry.payload_bytes) {
    text = (entry.flags & kPackedZstd) != 0 ? unpack_zstd(payload, entry.packed_bytes, entry.unpacked_bytes)
                                            : unpack_lz4_block({payload, entry.packed_bytes}, entry.unpacked_bytes);
  }
  // Texts are padded with zeros.
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

}  // namespace

bool is_fat_binary(const void* image) {
  return container_of(image) != nullptr;
}

std::string newest_ptx(const void* image) {
  const std::byte* const container = container_of(image);
  const auto header = read_at<Header>(container);
  const std::byte* const end = container + header.header_bytes + header.bytes;
  std::string best;
  std::uint32_t best_architecture = 0;
  for (const std::byte* at = container + header.header_bytes; at + sizeof(Entry) <= end;) {
    const auto entry = read_at<Entry>(at);
    if (entry.header_bytes < sizeof(Entry) || entry.payload_bytes > static_cast<std::uint64_t>(end - at)) break;
    if (entry.kind == kPtxEntry && entry.architecture >= best_architecture) {
      std::string text = text_of(entry, at + entry.header_bytes);
      if (!text.empty()) {
        best = std::move(text);
        best_architecture = entry.architecture;
      }
    }
    at += entry.header_bytes + entry.payload_bytes;
  }
  return best;
}

}  // namespace cupool::simgpu
