// SPDX-License-Identifier: Apache-2.0
//
// arena_capacity TRACE...: for each trace and handle size, the smallest capacity at which it fits over its largest live sum, the
// handles moved at that capacity, and what is held over what is live at the troughs. Prints JSON; judges nothing.
#include <cstdio>
#include <string>

#include "tests/pool/replay.h"

using namespace cupool;
using namespace cupool::pool;

int main(int count, char** arguments) {
  std::printf("[");
  for (int i = 1; i < count; ++i) {
    const auto events = read_trace(arguments[i]);
    if (!events) {
      std::fprintf(stderr, "%s: %s\n", events.error().place.c_str(), events.error().text.c_str());
      return 1;
    }
    const replay::Script script = replay::make_script(*events);
    std::string name = arguments[i];
    name = name.substr(name.rfind('/') + 1);
    std::printf("%s\n {\"trace\": \"%s\", \"live_gib\": %.3f, \"events\": %zu, \"handles\": {", i > 1 ? "," : "", name.c_str(),
                static_cast<double>(script.peak_live) / static_cast<double>(kGiB.count), script.steps.size());
    const char* comma = "";
    for (const std::uint64_t mib : {2, 8, 32, 128}) {
      replay::Setup setup;
      setup.handle = Bytes{mib << 20};
      setup.handles = replay::smallest_capacity(script, setup);
      const replay::Outcome at_limit = replay::run(script, setup);
      replay::Setup roomy = setup;
      roomy.handles = setup.handles * 2;
      roomy.passes = 3;
      const replay::Outcome free = replay::run(script, roomy);
      std::printf("%s\"%d\": {\"capacity_over_live\": %.4f, \"moved\": %llu, \"span_over_live\": %.3f, \"held_over_live\": %.4f}",
                  comma, static_cast<int>(mib),
                  static_cast<double>(setup.handles * setup.handle.count) / static_cast<double>(script.peak_live),
                  static_cast<unsigned long long>(at_limit.moved),
                  static_cast<double>(at_limit.span) / static_cast<double>(script.peak_live), free.held_over_live);
      comma = ", ";
    }
    std::printf("}}");
    std::fflush(stdout);
  }
  std::printf("\n]\n");
  return 0;
}
