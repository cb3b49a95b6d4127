// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/driver.h"

#include <dlfcn.h>

namespace contract {
namespace {

void from_link(Driver& driver) {
#define USED(exported, base, version, flags) driver.exported = &::exported;
#include "tests/contract/used.def"
}

std::string from_symbols(void* library, Driver& driver) {
  std::string missing;
#define USED(exported, base, version, flags)                                                \
  driver.exported = reinterpret_cast<decltype(driver.exported)>(dlsym(library, #exported)); \
  if (driver.exported == nullptr) missing += " " #exported;
#include "tests/contract/used.def"
  return missing;
}

std::string from_lookup(void* library, Driver& driver) {
  const auto lookup = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
  if (lookup == nullptr) return " cuGetProcAddress_v2";
  std::string missing;
  void* found = nullptr;
#define USED(exported, base, version, flags)                                                                        \
  found = nullptr;                                                                                                  \
  if (lookup(#base, &found, version, flags, nullptr) != CUDA_SUCCESS || found == nullptr) missing += " " #exported; \
  driver.exported = reinterpret_cast<decltype(driver.exported)>(found);
#include "tests/contract/used.def"
  return missing;
}

}  // namespace

std::string load(Route route, Driver& driver) {
  if (route == Route::link) {
    from_link(driver);
    return "";
  }
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("libcuda.so.1: ") + dlerror();
  return route == Route::sym ? from_symbols(library, driver) : from_lookup(library, driver);
}

}  // namespace contract
