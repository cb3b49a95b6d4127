// SPDX-License-Identifier: Apache-2.0
//
// A library that is linked with the driver and opened by a program that is not (as Python opens extension modules).
#include <stddef.h>
#include <stdint.h>

int cuMemAlloc_v2(uint64_t* address, size_t bytes);
int library_allocates(uint64_t* address);

int library_allocates(uint64_t* address) {
  return cuMemAlloc_v2(address, 4096);
}
