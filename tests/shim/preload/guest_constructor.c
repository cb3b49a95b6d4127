// SPDX-License-Identifier: Apache-2.0
//
// A library that uses the driver while it is being loaded, which is while its loader's lock is held.
#include <dlfcn.h>
#include <stdint.h>

int cuMemAlloc_v2(uint64_t* address, size_t bytes);

__attribute__((constructor)) static void use_the_driver(void) {
  uint64_t address;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*function)(uint64_t*, size_t);
  *(void**)&function = dlsym(driver, "cuMemAlloc_v2");
  if (function(&address, 4096) != 0 || cuMemAlloc_v2(&address, 4096) != 0) __builtin_trap();
}
