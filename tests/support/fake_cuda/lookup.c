// SPDX-License-Identifier: Apache-2.0
//
// The functions that do more than count: they override the weak ones.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_cuda.h"

#define EXPORTED __attribute__((visibility("default")))

static int version(void) {
  const char* set = getenv("FAKE_CUDA_VERSION");
  return set != NULL ? atoi(set) : FAKE_CUDA_AGE;
}

static int lookup_is(const char* kind) {
  const char* set = getenv("FAKE_CUDA_LOOKUP");
  return set != NULL && strcmp(set, kind) == 0;
}

static int unknown_newer_form(void) {
  return 77;
}

/// How often a driver function was called, by whatever way; -1 for an unknown name.
EXPORTED int fake_calls(const char* exported);
int fake_calls(const char* exported) {
  for (int i = 0; i < fake_function_count; ++i) {
    if (strcmp(fake_functions[i].exported, exported) == 0) return *fake_functions[i].calls;
  }
  return -1;
}

static int count(const char* exported) {
  for (int i = 0; i < fake_function_count; ++i) {
    if (strcmp(fake_functions[i].exported, exported) == 0) ++*fake_functions[i].calls;
  }
  return 0;
}

EXPORTED int cuDriverGetVersion(int* out);
int cuDriverGetVersion(int* out) {
  *out = version();
  return 0;
}

/// No table: the vendor's runtime then gives up in good order.
EXPORTED int cuGetExportTable(const void** table, const void* id);
int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = NULL;
  return 500;
}

/// The address is the number of the call: tests see which call gave it.
EXPORTED int cuMemAlloc_v2(uint64_t* address, size_t bytes);
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  (void)bytes;
  count("cuMemAlloc_v2");
  *address = 0x10000u * (unsigned)fake_calls("cuMemAlloc_v2");
  return 0;
}

static const struct fake_function* form(const char* base, int wanted, int per_thread) {
  const struct fake_function* best = NULL;
  for (int i = 0; i < fake_function_count; ++i) {
    const struct fake_function* f = &fake_functions[i];
    if (strcmp(f->base, base) != 0 || f->since > wanted || f->since > version() || f->per_thread != per_thread) continue;
    if (best == NULL || f->since > best->since) best = f;
  }
  return best == NULL && per_thread ? form(base, wanted, 0) : best;
}

EXPORTED int cuGetProcAddress_v2(const char* symbol, void** function, int wanted, uint64_t flags, int* status);
int cuGetProcAddress_v2(const char* symbol, void** function, int wanted, uint64_t flags, int* status) {
  count("cuGetProcAddress_v2");
  if (symbol == NULL || function == NULL || wanted > version()) return 1;
  const struct fake_function* found = form(symbol, wanted, (flags & 2) != 0);
  *function = found == NULL ? NULL : lookup_is("other") ? found->other : found->address;
  if (lookup_is("newer") && strcmp(symbol, "cuMemAlloc") == 0 && wanted >= 13030) *function = (void*)unknown_newer_form;
  if (status != NULL) *status = *function != NULL ? 0 : 1 + (form(symbol, 99999, 0) != NULL);
  return 0;
}

EXPORTED int cuGetProcAddress(const char* symbol, void** function, int wanted, uint64_t flags);
int cuGetProcAddress(const char* symbol, void** function, int wanted, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, wanted, flags, NULL);
}
