// SPDX-License-Identifier: Apache-2.0
//
// The contract program: calls the driver as programs do and prints what it answers, as stable text. Simulator and hardware must
// print the same, and so must bare and preloaded runs, but for a documented list.
//
//   contract [--route link|sym|gpa]
//
// Observations go to standard output; what differs from the expectation goes to standard error, and then the exit status is 1.
#include <cstdio>
#include <cstring>

#include "tests/contract/areas.h"

namespace {

bool parse_route(const char* text, contract::Route& route) {
  if (std::strcmp(text, "link") == 0)
    route = contract::Route::link;
  else if (std::strcmp(text, "sym") == 0)
    route = contract::Route::sym;
  else if (std::strcmp(text, "gpa") == 0)
    route = contract::Route::gpa;
  else
    return false;
  return true;
}

void observe_with_context(const contract::Driver& driver, contract::Observer& observer, const char* self, const char* route) {
  CUcontext context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  contract::observe_memory(driver, observer);
  contract::observe_copies(driver, observer);
  contract::observe_host_memory(driver, observer);
  contract::observe_pools(driver, observer);
  contract::observe_virtual_memory(driver, observer);
  contract::observe_streams(driver, observer);
  contract::observe_modules(driver, observer);
  contract::observe_capture(driver, observer);
  contract::observe_graphs(driver, observer);
  contract::observe_sharing(driver, observer, self, route);
  driver.cuCtxSetCurrent(nullptr);
  driver.cuDevicePrimaryCtxRelease_v2(0);
}

}  // namespace

int main(int argc, char** argv) {
  const char* route_text = "link";
  bool is_peer = false;
  for (int index = 1; index < argc; ++index) {
    if (std::strcmp(argv[index], "--route") == 0 && index + 1 < argc)
      route_text = argv[++index];
    else if (std::strcmp(argv[index], "--sharing-peer") == 0)
      is_peer = true;
    else
      return std::fprintf(stderr, "usage: %s [--route link|sym|gpa]\n", argv[0]), 2;
  }
  contract::Route route{};
  if (!parse_route(route_text, route)) return std::fprintf(stderr, "%s: no route is called %s\n", argv[0], route_text), 2;
  contract::Driver driver;
  if (const std::string missing = contract::load(route, driver); !missing.empty()) {
    std::fprintf(stderr, "the driver lacks:%s\n", missing.c_str());
    return 2;
  }
  if (is_peer) return contract::run_sharing_peer(driver);

  contract::Observer observer;
  contract::observe_before_initialisation(driver, observer);
  contract::observe_devices_and_lookup(driver, observer);
  contract::observe_contexts(driver, observer);
  observe_with_context(driver, observer, argv[0], route_text);
  contract::observe_faults(driver, observer);
  std::fprintf(stderr, "%u observations, %u differ from what is expected, %u left open\n", observer.observations(),
               observer.differences(), observer.left_open());
  return observer.differences() == 0 ? 0 : 1;
}
