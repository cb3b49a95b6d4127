// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

/// What the preload (libcupool.so) and the core (libcupool-core.so) tell each other. Both are built from one tree and refuse each
/// other when their versions differ, so this may change freely.
///
/// The preload exports one stub per name of shim/abi/exports.def. A stub jumps to what its slot holds; while that is null it asks
/// the core. Nothing here may be called with a lock held: the loader's lock may be held by the caller (a library's constructor
/// resolves names), and any of these may take it.

#ifdef __cplusplus
extern "C" {
#endif

/// Slots in the order of shim/abi/exports.def: CUPOOL_SLOT_<name>.
enum cupool_slot {
#define CUPOOL_EXPORT(kind, name) CUPOOL_SLOT_##name,
#include "shim/abi/exports.def"
  CUPOOL_SLOT_COUNT
};

/// What the preload offers. Lives as long as the process.
struct cupool_preload {
  uint32_t size;        ///< of this structure
  uint32_t slot_count;  ///< CUPOOL_SLOT_COUNT of the preload
  const char* version;  ///< of the project
  /// Where the stubs jump. The core stores function addresses here with single aligned writes; null means ask.
  void** slots;
  /// The process's own functions of the loader, with nothing of ours in between.
  void* (*dlsym)(void* handle, const char* name);
  void* (*dlopen)(const char* file, int mode);
  int (*dlclose)(void* handle);
  char* (*dlerror)(void);
  int (*dladdr)(const void* address, void* dl_info);
  /// The first definition of `name` in an object that was loaded after the one that holds `address`, the preload left out; null
  /// when there is none. This is what RTLD_NEXT would find, whoever asks.
  void* (*find_beyond)(const void* address, const char* name);
  /// Whether an address lies in the preload's own image.
  int (*is_ours)(const void* address);
  /// The answer of a driver that is not installed: returns 34 (CUDA_ERROR_STUB_LIBRARY).
  int (*stub_answer)(void);
};

/// What the core offers. Lives as long as the process; every call is thread-safe and takes no lock across a call of the loader.
struct cupool_core {
  uint32_t size;
  /// What a program gets that resolved the driver's or NVML's `name` to `found`: the hook, or `found` where the name is none of
  /// ours or the address belongs to no driver.
  void* (*substitute)(const char* name, void* found);
  /// Where a call through the stub of `slot` goes, for `caller` (a return address). Fills the slots that it can. Never null.
  void* (*resolve)(uint32_t slot, const void* caller);
};

/// The core's only export. Returns what it offers, or null with *reason set to a static text.
typedef const struct cupool_core* (*cupool_core_attach_fn)(const struct cupool_preload* preload, const char** reason);
#define CUPOOL_CORE_ATTACH "cupool_core_attach"
#define CUPOOL_CORE_FILE "libcupool-core.so"

#ifdef __cplusplus
}
#endif
