// SPDX-License-Identifier: Apache-2.0
#include "policy/base/units.h"

#include <array>
#include <cstdio>

namespace cupool {
namespace {

struct Scale {
  Bytes one;
  const char* name;
};
constexpr std::array<Scale, 4> kScales{{{Bytes{std::uint64_t{1} << 40}, "TiB"}, {kGiB, "GiB"}, {kMiB, "MiB"}, {kKiB, "KiB"}}};

}  // namespace

std::string to_text(Bytes bytes) {
  std::array<char, 40> text{};
  for (const Scale& scale : kScales) {
    if (bytes < scale.one) continue;
    if (bytes.count % scale.one.count == 0) {
      return std::to_string(bytes.count / scale.one.count) + " " + scale.name;
    }
    const double value = static_cast<double>(bytes.count) / static_cast<double>(scale.one.count);
    std::snprintf(text.data(), text.size(), value < 10 ? "%.2f %s" : value < 100 ? "%.1f %s" : "%.0f %s", value, scale.name);
    return text.data();
  }
  return std::to_string(bytes.count) + " B";
}

}  // namespace cupool
