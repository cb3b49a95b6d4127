// SPDX-License-Identifier: Apache-2.0
//
// A program that reaches the driver by every way and says, per way, whose function it got and whether a call arrived once.
// Output: "ROUTE WHERE ARRIVED" per line; WHERE is hook, driver, other or none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*alloc_fn)(uint64_t*, size_t);
typedef int (*lookup_v1_fn)(const char*, void**, int, uint64_t);
typedef int (*lookup_v2_fn)(const char*, void**, int, uint64_t, int*);

int cuMemAlloc_v2(uint64_t* address, size_t bytes);
int cuGetProcAddress_v2(const char*, void**, int, uint64_t, int*);

static int (*fake_calls)(const char*);

static const char* where(const void* function) {
  Dl_info info;
  if (function == NULL) return "none";
  if (!dladdr(function, &info) || info.dli_fname == NULL) return "other";
  if (strstr(info.dli_fname, "libcupool") != NULL) return "hook";
  return strstr(info.dli_fname, "libcuda.so") != NULL ? "driver" : "other";
}

static void show(const char* route, void* function) {
  int arrived = -1;
  if (function != NULL && fake_calls != NULL) {
    uint64_t address = 0;
    const int before = fake_calls("cuMemAlloc_v2");
    if (((alloc_fn)function)(&address, 4096) == 0) arrived = fake_calls("cuMemAlloc_v2") - before;
  }
  printf("%s %s %d\n", route, where(function), arrived);
}

static void show_dlsym(const char* route, void* handle) {
  show(route, dlsym(handle, "cuMemAlloc_v2"));
}

static void show_lookups(void* driver) {
  lookup_v1_fn v1 = (lookup_v1_fn)dlsym(driver, "cuGetProcAddress");
  lookup_v2_fn v2 = (lookup_v2_fn)dlsym(driver, "cuGetProcAddress_v2");
  printf("dlsym_of_lookup_v1 %s 0\ndlsym_of_lookup_v2 %s 0\n", where((void*)v1), where((void*)v2));
  void* function = NULL;
  int status = 9;
  if (v1 != NULL) {
    v1("cuMemAlloc", &function, 3020, 0);
    show("lookup_v1", function);
  }
  if (v2 == NULL) return;
  for (uint64_t flags = 0; flags <= 2; ++flags) {
    char route[32];
    function = NULL;
    v2("cuMemAlloc", &function, 12000, flags, &status);
    snprintf(route, sizeof route, "lookup_v2_flags_%d", (int)flags);
    show(route, function);
  }
  function = NULL;
  v2("cuMemAlloc", &function, 13000, 0, NULL);
  show("lookup_v2_without_status", function);
  const int refused = v2("cuMemAlloc", &function, 99000, 0, &status);
  printf("lookup_above_the_driver refused %d\n", refused);
  function = (void*)1;
  const int unknown = v2("cuNoSuchFunction", &function, 12000, 0, &status);
  printf("lookup_of_an_unknown_name %d %s %d\n", unknown, where(function), status);
  const int empty = v2("", &function, 0, 0, &status);
  printf("lookup_of_the_empty_name %d %s %d\n", empty, where(function), status);
  function = NULL;
  v2("cuMemAllocAsync", &function, 11000, 0, &status);
  printf("lookup_of_a_form_too_new %s %d\n", where(function), status);
  function = NULL;
  v2("cuDeviceGetCount", &function, 12000, 0, &status);
  printf("lookup_of_a_name_never_hooked %s %d\n", where(function), status);
  // The lookup asked for itself, and called through.
  lookup_v2_fn again = NULL;
  v2("cuGetProcAddress", (void**)&again, 12000, 0, &status);
  printf("lookup_of_the_lookup_v2 %s 0\n", where((void*)again));
  function = NULL;
  again("cuMemAlloc", &function, 12000, 0, &status);
  show("through_the_lookup_of_the_lookup_v2", function);
  lookup_v1_fn again_v1 = NULL;
  v2("cuGetProcAddress", (void**)&again_v1, 11030, 0, &status);
  printf("lookup_of_the_lookup_v1 %s 0\n", where((void*)again_v1));
  function = NULL;
  again_v1("cuMemAlloc", &function, 11030, 0);
  show("through_the_lookup_of_the_lookup_v1", function);
  if (getenv("FAKE_CUDA_LOOKUP") != NULL && strcmp(getenv("FAKE_CUDA_LOOKUP"), "newer") == 0) {
    function = NULL;
    v2("cuMemAlloc", &function, 13030, 0, &status);
    printf("lookup_of_a_newer_form %s %d\n", where(function), ((int (*)(void))function)());
  }
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    printf("no driver: %d\n", cuMemAlloc_v2(NULL, 0));
    return 0;
  }
  *(void**)&fake_calls = dlsym(driver, "fake_calls");
  // Some callers look at dlerror and not at the result.
  dlerror();
  void* first = dlsym(driver, "cuMemAlloc_v2");
  const char* error = dlerror();
  printf("error_after_the_first_lookup %s %s\n", first != NULL ? "found" : "none", error != NULL ? error : "no error");
  show("link", (void*)cuMemAlloc_v2);
  show_dlsym("dlsym_soname", driver);
  show_dlsym("dlsym_default", RTLD_DEFAULT);
  show_dlsym("dlsym_next", RTLD_NEXT);
  show_dlsym("dlsym_program", dlopen(NULL, RTLD_NOW));
  show_dlsym("dlsym_noload", dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
  show_dlsym("dlsym_lazy", dlopen("libcuda.so.1", RTLD_LAZY));
  show_dlsym("dlsym_other_name", dlopen("libcuda.so", RTLD_NOW));
  show("dlvsym", dlvsym(driver, "cuMemAlloc_v2", "FAKE_CUDA"));
  show_dlsym("dlmopen", dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW));
  printf("dlsym_of_a_name_never_hooked %s 0\n", where(dlsym(driver, "cuDeviceGetCount")));
  printf("dlsym_of_an_unknown_name %s 0\n", where(dlsym(driver, "cuNoSuchFunction")));
  if (argc > 1) {
    void* copy = dlopen(argv[1], RTLD_NOW);
    show_dlsym("dlsym_absolute_path", copy);
    // Two copies in one process: everything leads to the first.
    Dl_info of, other;
    void* of_first = dlsym(driver, "cuDeviceGetCount");
    void* of_second = copy != NULL ? dlsym(copy, "cuDeviceGetCount") : NULL;
    if (of_second != NULL && dladdr(of_first, &of) && dladdr(of_second, &other)) {
      printf("second_copy %s\n", of.dli_fbase == other.dli_fbase ? "leads_to_the_first" : "is_used_as_well");
    }
  }
  show_lookups(driver);
  return 0;
}
