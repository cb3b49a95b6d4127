// SPDX-License-Identifier: Apache-2.0
//
// The first CUDA symbol on many threads at once: half resolve it, half call it; one opens a library whose constructor does the
// same.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 16 };
int cuMemAlloc_v2(uint64_t* address, size_t bytes);
static pthread_barrier_t start;
static const char* library;

static void* first_use(void* argument) {
  const intptr_t number = (intptr_t)argument;
  uint64_t address = 0;
  int (*function)(uint64_t*, size_t) = cuMemAlloc_v2;
  pthread_barrier_wait(&start);
  if (number == 0 && library != NULL) return dlopen(library, RTLD_NOW | RTLD_LOCAL) != NULL ? NULL : (void*)1;
  if (number % 2 == 0) *(void**)&function = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
  return function != NULL && function(&address, 4096) == 0 && address != 0 ? NULL : (void*)1;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  library = argc > 1 ? argv[1] : NULL;
  pthread_barrier_init(&start, NULL, THREADS);
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, first_use, (void*)i);
  int failures = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    failures += result != NULL;
  }
  printf("%d of %d failed\n", failures, THREADS);
  return failures != 0;
}
