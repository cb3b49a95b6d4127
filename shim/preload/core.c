// SPDX-License-Identifier: Apache-2.0
//
// Opening libcupool-core.so at the first CUDA symbol. No lock: a thread may come here from a library's constructor, holding the
// loader's lock, while another waits for that lock in dlopen below. Opening twice gives the same handle, attaching twice the same
// answer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "shim/preload/preload.h"
#include "shim/preload/text.h"

enum state { STATE_UNKNOWN, STATE_OPEN, STATE_FAILED };
static int state;
static const struct cupool_core* attached;

static struct cupool_preload offered = {
    .size = sizeof(struct cupool_preload), .slot_count = CUPOOL_SLOT_COUNT, .version = CUPOOL_VERSION};

static const struct cupool_core* failed(const char* reason, const char* detail) {
  // In this order: a thread that sees the failure must find allocations refused already.
  cupool_decide_refusing();
  if (__atomic_exchange_n(&state, STATE_FAILED, __ATOMIC_ACQ_REL) != STATE_FAILED) cupool_say_failure(reason, detail);
  return NULL;
}

static void prepare_offer(void) {
  const struct cupool_loader* loader = cupool_loader();
  offered.slots = cupool_slots;
  offered.dlsym = loader->dlsym;
  offered.dlopen = loader->dlopen;
  offered.dlclose = loader->dlclose;
  offered.dlerror = loader->dlerror;
  offered.dladdr = loader->dladdr;
  offered.find_beyond = cupool_find_beyond;
  offered.is_ours = cupool_is_ours;
  offered.stub_answer = cupool_stub_answer;
}

/// Whether the file holds all that its program headers promise. The loader maps what is promised without looking: a copy that was
/// cut short would end the process by SIGBUS.
static int is_whole(const char* path) {
  union {
    ElfW(Ehdr) header;
    char bytes[1024];
  } start;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;  // the loader says it better
  const ssize_t got = read(file, start.bytes, sizeof start.bytes);
  const off_t size = lseek(file, 0, SEEK_END);
  close(file);
  if (got < (ssize_t)sizeof start.header || start.header.e_phentsize != sizeof(ElfW(Phdr))) return 0;
  for (size_t i = 0; i < start.header.e_phnum; ++i) {
    const size_t at = start.header.e_phoff + i * sizeof(ElfW(Phdr));
    if (at + sizeof(ElfW(Phdr)) > (size_t)got) return 0;
    const ElfW(Phdr)* segment = (const void*)(start.bytes + at);
    if (segment->p_offset + segment->p_filesz > (size_t)size) return 0;
  }
  return 1;
}

static const struct cupool_core* open_core(void) {
  const struct cupool_loader* loader = cupool_loader();
  char path[768];
  const size_t folder = cupool_own_folder(path, sizeof path - sizeof CUPOOL_CORE_FILE);
  if (folder == 0) return failed("where libcupool.so lies is not known", "");
  cupool_copy(path + folder, CUPOOL_CORE_FILE, sizeof CUPOOL_CORE_FILE - 1);
  if (!is_whole(path)) return failed("the core is not a whole library: ", path);
  void* library = loader->dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char* why = loader->dlerror();
    return failed("the core cannot be opened: ", why != NULL ? why : path);
  }
  cupool_core_attach_fn attach;
  *(void**)&attach = loader->dlsym(library, CUPOOL_CORE_ATTACH);
  if (attach == NULL) return failed("this is not a core of cupool: ", path);
  prepare_offer();
  const char* reason = "";
  const struct cupool_core* core = attach(&offered, &reason);
  if (core == NULL) return failed(reason, path);
  __atomic_store_n(&attached, core, __ATOMIC_RELEASE);
  __atomic_store_n(&state, STATE_OPEN, __ATOMIC_RELEASE);
  return core;
}

const struct cupool_core* cupool_core_if_open(void) {
  return __atomic_load_n(&attached, __ATOMIC_ACQUIRE);
}

const struct cupool_core* cupool_core(void) {
  const struct cupool_core* core = cupool_core_if_open();
  if (core != NULL || __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_FAILED) return core;
  return cupool_is_switched_off() ? NULL : open_core();
}
