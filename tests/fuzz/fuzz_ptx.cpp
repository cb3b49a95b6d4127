// SPDX-License-Identifier: Apache-2.0
// libFuzzer: whatever the text, reading and translating it neither crashes nor hangs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/simgpu/ptx/translate/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Most inputs would fail at the first line: those that do not begin with it get it.
  static constexpr std::string_view kHead = ".version 8.5\n.target sm_90\n";
  std::string whole;
  if (!text.starts_with(".version")) whole = std::string(kHead);
  whole.append(text);
  const std::string_view view = whole;
  (void)cupool::simgpu::ptx::translate({&view, 1});
  return 0;
}
