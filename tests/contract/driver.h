// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shim/abi/driver_api.h"

namespace contract {

/// The driver's functions as one of the ways in gave them.
struct Driver {
#define USED(exported, base, version, flags) decltype(&::exported) exported = nullptr;
#include "tests/contract/used.def"
};

/// The ways by which programs reach the driver.
enum class Route {
  link,  ///< symbols bound by the loader
  sym,   ///< dlopen("libcuda.so.1") and dlsym of exported names
  gpa,   ///< dlsym of cuGetProcAddress_v2 alone, everything else through it
};

/// Fills `driver`. Empty on success, else what is missing.
std::string load(Route route, Driver& driver);

}  // namespace contract
