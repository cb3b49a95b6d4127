// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/lz4_block.h"

#include <cstdint>

namespace cupool::simgpu {
namespace {

/// Reads the packed bytes; every step says whether there was enough left.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool is_at_end() const { return at_ == bytes_.size(); }
  bool byte(unsigned& value) {
    if (is_at_end()) return false;
    value = std::to_integer<unsigned>(bytes_[at_++]);
    return true;
  }
  /// A length of which four bits are known: 15 means that more bytes follow, up to the first below 255.
  bool length(unsigned start, std::size_t& value) {
    value = start;
    if (start != 15) return true;
    unsigned more = 0;
    do {
      if (!byte(more)) return false;
      value += more;
    } while (more == 255);
    return true;
  }
  bool take(std::size_t count, std::span<const std::byte>& taken) {
    if (count > bytes_.size() - at_) return false;
    taken = bytes_.subspan(at_, count);
    at_ += count;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// A match may overlap what it produces: byte by byte.
bool repeat(std::string& text, std::size_t distance, std::size_t count, std::size_t limit) {
  if (distance == 0 || distance > text.size() || count > limit - text.size()) return false;
  for (std::size_t i = 0; i < count; ++i) text.push_back(text[text.size() - distance]);
  return true;
}

}  // namespace

std::string unpack_lz4_block(std::span<const std::byte> packed, std::size_t unpacked_bytes) {
  constexpr std::size_t kShortestMatch = 4;
  Reader reader(packed);
  std::string text;
  text.reserve(unpacked_bytes);
  while (!reader.is_at_end()) {
    unsigned token = 0;
    std::size_t literals = 0;
    std::span<const std::byte> taken;
    if (!reader.byte(token) || !reader.length(token >> 4, literals) || !reader.take(literals, taken)) return {};
    if (literals > unpacked_bytes - text.size()) return {};
    text.append(reinterpret_cast<const char*>(taken.data()), taken.size());
    if (reader.is_at_end()) break;  // the last sequence is literals alone
    unsigned low = 0;
    unsigned high = 0;
    std::size_t match = 0;
    if (!reader.byte(low) || !reader.byte(high) || !reader.length(token & 15, match)) return {};
    if (!repeat(text, low | (high << 8), match + kShortestMatch, unpacked_bytes)) return {};
  }
  return text.size() == unpacked_bytes ? text : std::string();
}

}  // namespace cupool::simgpu
