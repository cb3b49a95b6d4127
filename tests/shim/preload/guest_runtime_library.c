// SPDX-License-Identifier: Apache-2.0
//
// A library that is linked with a runtime of its own.
#include <stddef.h>

int cudaMalloc(void** pointer, size_t bytes);
int cudaGetLastError(void);
int library_is_refused_by(void);
int library_last_error(void);

int library_is_refused_by(void) {
  void* pointer;
  return cudaMalloc(&pointer, 0);
}
int library_last_error(void) {
  return cudaGetLastError();
}
