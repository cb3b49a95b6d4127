// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer over both forms of a trace. Whatever the bytes, reading ends: with events that follow the rules, or with a fault that
// names a place and is fit to print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "pool/trace.h"

namespace {

using namespace cupool;
using namespace cupool::pool;

void must(bool holds) {
  if (!holds) std::abort();
}

bool is_printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = TraceReader::from_bytes(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  must(reader.has_value());
  std::unordered_set<std::uint64_t> live;
  std::uint64_t time = 0;
  for (std::size_t events = 0;; ++events) {
    must(events <= size);  // an event takes at least a byte
    const auto event = reader->next();
    if (!event) {
      must(is_printable(event.error().place) && is_printable(event.error().text));
      return 0;
    }
    if (!*event) return 0;
    const TraceEvent& one = **event;
    must(one.time_us >= time || one.time_us == 0 || time > UINT64_MAX / 2);
    time = one.time_us;
    if (one.kind == TraceEvent::Kind::allocate) {
      must(one.size.count != 0 && live.insert(one.id).second);
    } else {
      must(live.erase(one.id) == 1);
    }
  }
}
