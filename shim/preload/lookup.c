// SPDX-License-Identifier: Apache-2.0
//
// What dlsym, dlvsym and dlmopen decide. The real function is asked first; only an answer that exists is replaced, and whatever is
// not ours is left to the real function, entered by a jump from stubs.c so that it sees the program as its caller (RTLD_NEXT and
// RTLD_DEFAULT depend on it, and so does the text of dlerror).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#include "shim/preload/preload.h"
#include "shim/preload/text.h"

/// In rax and rdx: the assembly reads both.
struct decision {
  void* result;
  long decided;
};
#define CALLED_FROM_ASSEMBLY __attribute__((used, visibility("hidden")))
CALLED_FROM_ASSEMBLY struct decision cupool_decide_dlsym(void* handle, const char* name, void* unused, const void* caller);
CALLED_FROM_ASSEMBLY struct decision cupool_decide_dlvsym(void* handle, const char* name, const char* version, const void* caller);
CALLED_FROM_ASSEMBLY struct decision cupool_decide_dlmopen(long space, const char* file, int mode, const void* caller);

static const struct decision leave_it = {NULL, 0};

static int is_runtime_name(const char* name) {
  return cupool_begins_with(name, "cuda");
}

/// A name of the driver, of whatever version: cu and a capital. cuBLAS, cuFFT and the runtime go on in small letters.
static int is_driver_name(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/// RTLD_DEFAULT as `caller` means it: the global scope, then the caller's own dependencies.
static void* find_for_caller(const char* name, const void* caller) {
  const struct cupool_loader* loader = cupool_loader();
  void* found = loader->dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  if (found != NULL || !loader->dladdr(caller, &info) || info.dli_fname == NULL || info.dli_fname[0] == 0) return found;
  void* library = loader->dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  found = loader->dlsym(library, name);
  loader->dlclose(library);
  return found;
}

static void* find_real(void* handle, const char* name, const char* version, const void* caller) {
  if (handle == RTLD_NEXT) return cupool_find_beyond(caller, name);
  if (version != NULL) return cupool_loader()->dlvsym(handle, name, version);
  return handle == RTLD_DEFAULT ? find_for_caller(name, caller) : cupool_loader()->dlsym(handle, name);
}

/// Runtime names are exported for link-time callers only. A lookup that would meet ours goes on to the next definition.
static struct decision decide_runtime(void* handle, const char* name, const char* version, const void* caller) {
  void* found = find_real(handle, name, version, caller);
  if (found == NULL || !cupool_is_ours(found)) return leave_it;
  const struct decision next = {cupool_find_beyond(found, name), 1};
  if (next.result == NULL) cupool_loader()->dlsym(RTLD_NEXT, name);  // leaves "undefined symbol" for dlerror
  return next;
}

static struct decision decide(void* handle, const char* name, const char* version, const void* caller) {
  const struct cupool_loader* loader = cupool_loader();
  const int slot = cupool_slot_of(name);
  if (slot < 0) {
    // Not ours, but where a second copy of the driver is in the process, all its names must lead to the first.
    const struct cupool_core* core = cupool_core_if_open();
    if (core == NULL || name == NULL || !is_driver_name(name) || handle == RTLD_DEFAULT || handle == RTLD_NEXT) return leave_it;
    void* found = find_real(handle, name, version, caller);
    const struct decision decision = {found != NULL ? core->substitute(name, found) : NULL, 1};
    return decision.result != NULL && decision.result != found ? decision : leave_it;
  }
  if (is_runtime_name(name)) return decide_runtime(handle, name, version, caller);
  void* found = find_real(handle, name, version, caller);
  // Asked once more by its true caller, the real function fails with the right message.
  if (found == NULL) return leave_it;
  const struct cupool_core* core = cupool_core();
  const struct decision decision = {core != NULL ? core->substitute(name, found) : cupool_without_core_substitute(name, found), 1};
  loader->dlerror();  // what we asked on the way must not be taken for this call's failure
  return decision;
}

struct decision cupool_decide_dlsym(void* handle, const char* name, void* unused, const void* caller) {
  (void)unused;
  const int saved_errno = errno;
  const struct decision decision = decide(handle, name, NULL, caller);
  errno = saved_errno;
  return decision;
}

struct decision cupool_decide_dlvsym(void* handle, const char* name, const char* version, const void* caller) {
  const int saved_errno = errno;
  const struct decision decision = decide(handle, name, version, caller);
  errno = saved_errno;
  return decision;
}

static int is_vendor_library(const char* file) {
  const char* base = file;
  for (const char* c = file; *c != 0; ++c) {
    if (*c == '/') base = c + 1;
  }
  return cupool_begins_with(base, "libcuda.so") || cupool_begins_with(base, "libnvidia-ml.so");
}

/// A driver in a namespace of its own would be a second, unhooked copy: the base namespace's one is given instead.
struct decision cupool_decide_dlmopen(long space, const char* file, int mode, const void* caller) {
  (void)caller;
  const struct cupool_loader* loader = cupool_loader();
  if (space == LM_ID_BASE || file == NULL || !is_vendor_library(file)) return leave_it;
  if (cupool_core() == NULL && !cupool_is_refusing()) return leave_it;
  const struct decision decision = {loader->dlopen(file, mode & ~RTLD_GLOBAL), 1};
  return decision;
}
