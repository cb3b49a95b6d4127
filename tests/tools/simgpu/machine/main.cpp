// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <string>

#include "tests/tools/simgpu/machine/child.h"

int main(int argc, char** argv) {
  if (argc >= 3 && std::string(argv[1]) == "--role") {
    return cupool::simgpu::test::run_role(argv[2], {argv + 3, argv + argc});
  }
  return Catch::Session().run(argc, argv);
}
