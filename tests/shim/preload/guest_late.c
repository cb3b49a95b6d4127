// SPDX-License-Identifier: Apache-2.0
//
// A program that is not linked with the driver. Arguments are steps: wait (for a line on stdin), alloc (opens the driver and
// allocates), library PATH (a library linked with the driver allocates), release (dlclose). One line of output per step.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void allocate(void) {
  uint64_t address = 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*function)(uint64_t*, size_t) = NULL;
  if (driver != NULL) *(void**)&function = dlsym(driver, "cuMemAlloc_v2");
  printf("alloc %d\n", function != NULL ? function(&address, 4096) : -1);
}

static void allocate_in(const char* path) {
  uint64_t address = 0;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*function)(uint64_t*) = NULL;
  if (library != NULL) *(void**)&function = dlsym(library, "library_allocates");
  printf("library %d\n", function != NULL ? function(&address) : -1);
}

int main(int argc, char** argv) {
  char line[16];
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "wait") == 0) {
      puts("waiting");
      if (fgets(line, sizeof line, stdin) == NULL) return 1;
    } else if (strcmp(argv[i], "alloc") == 0) {
      allocate();
    } else if (strcmp(argv[i], "library") == 0 && i + 1 < argc) {
      allocate_in(argv[++i]);
    }
  }
  return 0;
}
