// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/observer.h"

#include <cstdio>

namespace contract {
namespace {

const char* to_text(Source source) {
  switch (source) {
    case Source::header:
      return "header";
    case Source::sheet:
      return "sheet";
    case Source::known:
      return "known";
    case Source::open:
      return "open";
  }
  return "?";
}

}  // namespace

void Observer::line(std::string_view name, const std::string& got, const std::string& wanted, Source source) {
  ++observations_;
  std::printf("%s.%.*s = %s\n", area_.c_str(), static_cast<int>(name.size()), name.data(), got.c_str());
  std::fflush(stdout);  // a crash later must not take what was seen before with it
  if (source == Source::open) {
    ++left_open_;
  } else if (got != wanted) {
    ++differences_;
    std::fprintf(stderr, "DIFFERS %s.%.*s: got %s, expected %s (%s)\n", area_.c_str(), static_cast<int>(name.size()), name.data(),
                 got.c_str(), wanted.c_str(), to_text(source));
  }
}

}  // namespace contract
