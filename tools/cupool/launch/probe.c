// SPDX-License-Identifier: Apache-2.0
//
// cupool-probe PRELOAD: run with the environment that a program will get. Status 0: the preload is in this process and the driver's
// names lead to its core. 3: it is not loaded. 4: the driver's names lead elsewhere. 5: it is loaded; there is no driver to ask for.
// Needs libc alone; initialises no driver and touches no GPU.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

static const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD) == NULL && dlopen(file_name(argv[1]), RTLD_LAZY | RTLD_NOLOAD) == NULL) return 3;
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == NULL) return 5;
  Dl_info info;
  void* symbol = dlsym(driver, "cuMemAlloc_v2");
  if (symbol == NULL || dladdr(symbol, &info) == 0 || info.dli_fname == NULL) return 4;
  return strcmp(file_name(info.dli_fname), "libcupool-core.so") == 0 ? 0 : 4;
}
