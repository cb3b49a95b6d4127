// SPDX-License-Identifier: Apache-2.0
//
// Nanoseconds per call of driver functions that do nothing, the best of many rounds: "NAME NS" per line. Run bare and preloaded;
// the difference is what the shim adds.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>

int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuMemcpyHtoD_v2(uint64_t, const void*, size_t);
int cuMemcpyDtoHAsync_v2(void*, uint64_t, size_t, void*);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFree_v2(uint64_t);

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum { ROUNDS = 200, CALLS = 20000 };
#define MEASURE(label, call)                          \
  do {                                                \
    double best = 1e9;                                \
    for (int round = 0; round < ROUNDS; ++round) {    \
      const double start = now_ns();                  \
      for (int i = 0; i < CALLS; ++i) call;           \
      const double took = (now_ns() - start) / CALLS; \
      if (took < best) best = took;                   \
    }                                                 \
    printf("%s %.2f\n", label, best);                 \
  } while (0)

int main(void) {
  char buffer[8] = {0};
  void* host = NULL;
  MEASURE("launch", cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  MEASURE("copy", cuMemcpyHtoD_v2(0, buffer, 8));
  MEASURE("copy_async", cuMemcpyDtoHAsync_v2(buffer, 0, 8, NULL));
  MEASURE("never_hooked", cuMemHostAlloc(&host, 8, 0));
  MEASURE("timed", cuMemFree_v2(0));
  return 0;
}
