// SPDX-License-Identifier: Apache-2.0
//
// An unrelated preloaded library that wraps a function of libc, as allocation tools do.
#define _GNU_SOURCE
#include <dlfcn.h>

char* getenv(const char* name);

char* getenv(const char* name) {
  static char* (*next)(const char*);
  static int depth;
  if (next == (void*)0) *(void**)&next = dlsym(RTLD_NEXT, "getenv");
  if (++depth > 100) __builtin_trap();  // RTLD_NEXT gave ourselves
  char* value = next(name);
  --depth;
  return value;
}
