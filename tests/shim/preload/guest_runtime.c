// SPDX-License-Identifier: Apache-2.0
//
// Calls the runtime as a program linked with it does; prints the runtime that answered and what its entry points are. With
// arguments it also opens libraries (RTLD_LOCAL) that are linked with other runtimes: each must reach its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaGetLastError(void);
int cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status);
int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version, unsigned long long flags,
                                     int* status);

static const char* where(const void* function) {
  Dl_info info;
  if (function == NULL || !dladdr(function, &info)) return "none";
  return strstr(info.dli_fname, "libcupool") != NULL ? "hook" : strstr(info.dli_fname, "libcuda.so") != NULL ? "driver" : "other";
}

static void show_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*refused)(void) = NULL;
  int (*last)(void) = NULL;
  if (library != NULL) {
    *(void**)&refused = dlsym(library, "library_is_refused_by");
    *(void**)&last = dlsym(library, "library_last_error");
  }
  if (refused == NULL || last == NULL) {
    printf("library cannot be opened: %s\n", dlerror());
    return;
  }
  const int by = refused();
  const int error = last();
  printf("library refused by runtime %d, its last error %d, the program's %d\n", by, error, cudaGetLastError());
}

int main(int argc, char** argv) {
  void* pointer = NULL;
  const int result = cudaMalloc(&pointer, 4096);
  printf("cudaMalloc %d %p\n", result, pointer);
  printf("cudaMalloc of nothing is refused by runtime %d\n", cudaMalloc(&pointer, 0));
  const int error = cudaGetLastError();
  printf("last error %d, then %d\n", error, cudaGetLastError());
  printf("cudaFree %d\n", cudaFree(NULL));
  void* function = NULL;
  int status = 9;
  const int plain = cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &status);
  printf("entry point %d %s %d\n", plain, where(function), status);
  const int by_version = cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, 0, &status);
  printf("entry point by version %d %s %d\n", by_version, where(function), status);
  const int itself = cudaGetDriverEntryPointByVersion("cuGetProcAddress", &function, 12000, 0, &status);
  printf("entry point of the lookup %d %s %d\n", itself, where(function), status);
  void* own = dlopen(NULL, RTLD_NOW);
  printf("lookup of the runtime's name: %s\n", where(dlsym(own, "cudaMalloc")));
  for (int i = 1; i < argc; ++i) show_library(argv[i]);
  return 0;
}
