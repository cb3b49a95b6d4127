// SPDX-License-Identifier: Apache-2.0
//
// What programs meet when there is no core: nothing that obtains device memory succeeds (code 2, which every framework takes for
// out of memory), everything else still reaches the driver. Never "silently unlimited". CUPOOL_ON_ERROR=open lets allocations
// through instead, CUPOOL=off asks for no cupool at all; neither is heard where root has installed a policy.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/preload/preload.h"
#include "shim/preload/text.h"

enum { OUT_OF_MEMORY = 2, STUB_LIBRARY = 34, NVML_LIBRARY_NOT_FOUND = 12 };
static const char kSystemPolicy[] = "/etc/cupool/policy.json";

static int refusing;

int cupool_stub_answer(void) {
  return STUB_LIBRARY;
}
static int nvml_stub_answer(void) {
  return NVML_LIBRARY_NOT_FOUND;
}
static int refuse(void) {
  return OUT_OF_MEMORY;
}

static int root_has_a_policy(void) {
  // The function of this name got a new symbol version in glibc 2.33; the system call did not.
  struct stat status;
  return syscall(SYS_newfstatat, AT_FDCWD, kSystemPolicy, &status, 0) == 0 && status.st_uid == 0;
}

static int asked_for(const char* variable, const char* value) {
  const char* set = secure_getenv(variable);
  return set != NULL && cupool_is_same(set, value) && !root_has_a_policy();
}

int cupool_is_refusing(void) {
  return refusing;
}
int cupool_is_switched_off(void) {
  return asked_for("CUPOOL", "off");
}

void cupool_decide_refusing(void) {
  refusing = !asked_for("CUPOOL_ON_ERROR", "open");
}

void cupool_say_failure(const char* reason, const char* detail) {
  const char* start = refusing ? "cupool: allocations are refused: " : "cupool: this process is not governed: ";
  struct iovec line[] = {{(void*)start, cupool_length(start)},
                         {(void*)reason, cupool_length(reason)},
                         {(void*)detail, cupool_length(detail)},
                         {"\n", 1}};
  // One write, so that lines of several processes do not mix. Where stderr is gone nobody can be told.
  if (writev(STDERR_FILENO, line, 4) < 0) return;
}

static int is_allocating(const char* name) {
  static const char* const bases[] = {
#define CUPOOL_ALLOCATING(base) #base,
#include "shim/abi/allocating.def"
  };
  for (size_t i = 0; i < sizeof bases / sizeof *bases; ++i) {
    const size_t length = cupool_length(bases[i]);
    if (cupool_begins_with(name, bases[i]) && (name[length] == 0 || name[length] == '_')) return 1;
  }
  return 0;
}

/// The library that a name belongs to, found as a program linked with it would find it.
static void* vendor_function(const char* name) {
  const struct cupool_loader* loader = cupool_loader();
  void* found = cupool_find_beyond(cupool_stubs, name);
  if (found != NULL) return found;
  const char* file = cupool_begins_with(name, "nvml") ? "libnvidia-ml.so.1" : "libcuda.so.1";
  void* library = loader->dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) library = loader->dlopen(file, RTLD_LAZY);
  return library != NULL ? loader->dlsym(library, name) : NULL;
}

// Lookups hand out addresses: while allocations are refused, theirs among them.
static int (*real_lookup_v1)(const char*, void**, int, uint64_t);
static int (*real_lookup_v2)(const char*, void**, int, uint64_t, int*);

static int filter(int code, const char* symbol, void** function, int version) {
  if (code != 0 || symbol == NULL || function == NULL || *function == NULL) return code;
  // From 12.0 on the base name means the form with five arguments.
  if (version >= 12000 && cupool_is_same(symbol, "cuGetProcAddress")) symbol = "cuGetProcAddress_v2";
  *function = cupool_without_core_substitute(symbol, *function);
  return code;
}
static int lookup_v1(const char* symbol, void** function, int version, uint64_t flags) {
  return filter(real_lookup_v1(symbol, function, version, flags), symbol, function, version);
}
static int lookup_v2(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  return filter(real_lookup_v2(symbol, function, version, flags, status), symbol, function, version);
}

void* cupool_without_core_substitute(const char* name, void* found) {
  if (!refusing) return found;
  if (is_allocating(name)) return (void*)refuse;
  if (cupool_is_same(name, "cuGetProcAddress")) {
    *(void**)&real_lookup_v1 = found;
    return (void*)lookup_v1;
  }
  if (cupool_is_same(name, "cuGetProcAddress_v2")) {
    *(void**)&real_lookup_v2 = found;
    return (void*)lookup_v2;
  }
  return found;
}

void* cupool_without_core_resolve(uint32_t slot, const void* caller) {
  const char* name = cupool_name_of(slot);
  if (cupool_begins_with(name, "cuda")) {
    // The runtime that the caller is linked with; which one differs between callers, so the slot stays empty.
    void* found = cupool_find_beyond(cupool_stubs, name);
    return found != NULL ? found : (void*)cupool_stub_answer;
  }
  void* found = vendor_function(name);
  (void)caller;
  if (found == NULL) return cupool_begins_with(name, "nvml") ? (void*)nvml_stub_answer : (void*)cupool_stub_answer;
  found = cupool_without_core_substitute(name, found);
  __atomic_store_n(&cupool_slots[slot], found, __ATOMIC_RELEASE);
  return found;
}
