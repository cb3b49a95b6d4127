// SPDX-License-Identifier: Apache-2.0
//
// What dlsym must keep for names that are none of ours: RTLD_NEXT of an unrelated library (compiled without optimisation),
// RTLD_DEFAULT in a program's own scope, texts of dlerror, errno. Prints the same with and without the preload.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void try_symbol(const char* label, void* handle, const char* name) {
  errno = 77;
  dlerror();
  void* found = dlsym(handle, name);
  const int kept = errno;
  const char* error = dlerror();
  printf("%s: %s, %s, errno %s\n", label, found != NULL ? "found" : "null", error != NULL ? error : "no error",
         kept == 77 ? "kept" : "changed");
}

int main(void) {
  // Interposed by the unrelated library if the test preloads it; its RTLD_NEXT must find libc's, not itself.
  printf("getenv through an interposer: %s\n", getenv("HOME") != NULL ? "set" : "unset");
  void* c = dlopen("libm.so.6", RTLD_NOW);
  try_symbol("known in a library", c, "cos");
  try_symbol("unknown in a library", c, "no_such_name");
  try_symbol("driver name in a library without it", c, "cuMemAlloc_v2");
  try_symbol("NVML name in a library without it", c, "nvmlDeviceGetMemoryInfo");
  try_symbol("driver name, default scope", RTLD_DEFAULT, "cuInit");
  try_symbol("driver name, next", RTLD_NEXT, "cuInit");
  try_symbol("driver name, program", dlopen(NULL, RTLD_NOW), "cuInit");
  try_symbol("known, default scope", RTLD_DEFAULT, "printf");
  try_symbol("unknown, default scope", RTLD_DEFAULT, "no_such_name");
  try_symbol("unknown, next", RTLD_NEXT, "no_such_name");
  printf("version: %s\n", dlvsym(RTLD_DEFAULT, "printf", "GLIBC_2.2.5") != NULL ? "found" : "null");
  printf("no such version: %s\n", dlvsym(RTLD_DEFAULT, "printf", "GLIBC_1.0") != NULL ? "found" : "null");
  void* space = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
  printf("another namespace: %s\n", space != NULL && space != c ? "a copy of its own" : "none");
  printf("no library: %s\n", dlopen("no-such-library.so", RTLD_NOW) == NULL ? dlerror() : "found");
  return 0;
}
