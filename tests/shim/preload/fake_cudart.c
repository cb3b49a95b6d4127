// SPDX-License-Identifier: Apache-2.0
//
// A runtime that resolves the driver as the vendor's does: dlopen, one dlsym of the lookup, everything else by lookup. It has a
// last error of its own; two of them (RUNTIME_ID) can be in one process. With RUNTIME_STATIC it is linked into the program, its
// names local.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef RUNTIME_STATIC
#define API __attribute__((visibility("hidden")))
#else
#define API __attribute__((visibility("default")))
#endif

typedef int (*lookup_fn)(const char*, void**, int, uint64_t, int*);
static lookup_fn lookup;
static int last_error;

API int cudaMalloc(void** pointer, size_t bytes);
API int cudaFree(void* pointer);
API int cudaGetLastError(void);
API int cudaRuntimeId(void);
API int cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status);
API int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version, unsigned long long flags,
                                         int* status);

static int start(void) {
  if (lookup != NULL) return 1;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != NULL) *(void**)&lookup = dlsym(driver, "cuGetProcAddress_v2");
  return lookup != NULL;
}

API int cudaRuntimeId(void) {
  return RUNTIME_ID;
}

API int cudaMalloc(void** pointer, size_t bytes) {
  int (*allocate)(void**, size_t) = NULL;
  if (start()) lookup("cuMemAlloc", (void**)&allocate, 3020, 0, NULL);
  last_error = bytes == 0 || allocate == NULL ? RUNTIME_ID : allocate(pointer, bytes);
  return last_error;
}

API int cudaFree(void* pointer) {
  return pointer == NULL ? 0 : 1;
}

API int cudaGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}

API int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version, unsigned long long flags,
                                         int* status) {
  return start() ? lookup(symbol, function, (int)version, flags, status) : 35;
}

API int cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 13000, flags, status);
}
