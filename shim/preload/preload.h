// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shim/abi/preload_protocol.h"

/// The parts of libcupool.so. No constructor runs, nothing allocates, no lock is held over a call that may take the loader's: every
/// step may run on several threads at once and ends in the same values.

/// The process's own loader functions: the next definition of each name after our library, in load order.
struct cupool_loader {
  void* (*dlsym)(void* handle, const char* name);
  void* (*dlvsym)(void* handle, const char* name, const char* version);
  void* (*dlmopen)(long space, const char* file, int mode);
  void* (*dlopen)(const char* file, int mode);
  int (*dlclose)(void* handle);
  char* (*dlerror)(void);
  int (*dladdr)(const void* address, void* dl_info);
};

/// Found at the first call. A process without them cannot load anything, and then nobody asks.
const struct cupool_loader* cupool_loader(void);

/// The slot of one of the names that we export, or -1.
int cupool_slot_of(const char* name);
/// The name of a slot. Never null for a valid slot.
const char* cupool_name_of(uint32_t slot);
int cupool_is_ours(const void* address);
void* cupool_find_beyond(const void* address, const char* name);
/// Absolute path of the folder that holds our library, with the closing slash. Returns its length, or 0 when unknown or too long.
size_t cupool_own_folder(char* folder, size_t size);

/// The first stub; stubs lie one after another, each CUPOOL_STUB_BYTES long.
extern const char cupool_stubs[];
extern void* cupool_slots[];
enum { CUPOOL_STUB_BYTES = 32 };

/// The core, opened at the first call; null when it cannot be had, which has then been said on stderr.
const struct cupool_core* cupool_core(void);
/// The core if it is open already.
const struct cupool_core* cupool_core_if_open(void);

/// Without a core: what a resolved driver or NVML name becomes, and where a stub's call goes.
void* cupool_without_core_substitute(const char* name, void* found);
void* cupool_without_core_resolve(uint32_t slot, const void* caller);
/// There is no core: decides whether allocations are refused from now on. Before anybody can see that there is none.
void cupool_decide_refusing(void);
/// Says so, and why, on one line of stderr.
void cupool_say_failure(const char* reason, const char* detail);
/// Whether allocations are refused for want of a core.
int cupool_is_refusing(void);
/// CUPOOL=off, where no root-owned policy forbids it.
int cupool_is_switched_off(void);
int cupool_stub_answer(void);
