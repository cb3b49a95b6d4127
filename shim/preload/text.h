// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// String functions of our own. A sanitizer's run time asks dlsym for what it wraps before it is initialised; calling strcmp from
/// there would enter its own wrapper.

static inline int cupool_is_same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static inline int cupool_begins_with(const char* text, const char* prefix) {
  while (*prefix != 0 && *text == *prefix) {
    ++text;
    ++prefix;
  }
  return *prefix == 0;
}

static inline size_t cupool_length(const char* text) {
  size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

/// Copies `length` bytes and ends them with a NUL.
static inline void cupool_copy(char* target, const char* text, size_t length) {
  for (size_t i = 0; i < length; ++i) target[i] = text[i];
  target[length] = 0;
}
