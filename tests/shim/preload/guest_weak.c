// SPDX-License-Identifier: Apache-2.0
//
// A program that would use the vendor's libraries if they were linked.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int cuInit(unsigned flags) __attribute__((weak));
int cuMemAlloc_v2(uint64_t* address, size_t bytes) __attribute__((weak));
int nvmlDeviceGetMemoryInfo(void* device, void* memory) __attribute__((weak));

int main(void) {
  uint64_t address;
  if (cuInit == NULL) {
    puts("no driver linked");
    return 0;
  }
  printf("cuInit %d\ncuMemAlloc_v2 %d\nnvmlDeviceGetMemoryInfo %d\n", cuInit(0), cuMemAlloc_v2(&address, 1),
         nvmlDeviceGetMemoryInfo(NULL, NULL));
  return 0;
}
