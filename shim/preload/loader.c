// SPDX-License-Identifier: Apache-2.0
//
// Finds symbols by reading the loaded objects' own tables, because every function that could be asked is one that we replace: a
// reference to dlsym or dlvsym from here would bind to our own definition, whatever version it named.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "shim/preload/preload.h"
#include "shim/preload/text.h"

enum { VERSION_HIDDEN = 0x8000 };

/// The tables of one loaded object that a lookup by name needs.
struct tables {
  uintptr_t base;
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const ElfW(Word) * old_hash;
  const ElfW(Half) * versions;
};

/// glibc turns the addresses in a dynamic section into absolute ones when it loads an object; it leaves the kernel's own object
/// alone.
static uintptr_t absolute(uintptr_t base, uintptr_t value) {
  return value < base ? base + value : value;
}

static int read_tables(uintptr_t base, const ElfW(Dyn) * entry, struct tables* out) {
  *out = (struct tables){base, NULL, NULL, NULL, NULL, NULL};
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    const void* address = (const void*)absolute(base, entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        out->symbols = address;
        break;
      case DT_STRTAB:
        out->strings = address;
        break;
      case DT_GNU_HASH:
        out->gnu_hash = address;
        break;
      case DT_HASH:
        out->old_hash = address;
        break;
      case DT_VERSYM:
        out->versions = address;
        break;
      default:
        break;
    }
  }
  return out->symbols != NULL && out->strings != NULL && (out->gnu_hash != NULL || out->old_hash != NULL);
}

static const ElfW(Dyn) * dynamic_section(uintptr_t base, const ElfW(Phdr) * headers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_DYNAMIC) return (const ElfW(Dyn)*)(base + headers[i].p_vaddr);
  }
  return NULL;
}

static int read_object(const struct dl_phdr_info* object, struct tables* out) {
  return read_tables(object->dlpi_addr, dynamic_section(object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum), out);
}

/// The address of symbol `index` if it is a definition of `name`; `hidden` says whether older, non-default versions count.
static void* match(const struct tables* object, uint32_t index, const char* name, int hidden) {
  const ElfW(Sym)* symbol = &object->symbols[index];
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || !cupool_is_same(object->strings + symbol->st_name, name))
    return NULL;
  if (!hidden && object->versions != NULL && (object->versions[index] & VERSION_HIDDEN) != 0) return NULL;
  return (void*)(object->base + symbol->st_value);
}

static void* find_by_gnu_hash(const struct tables* object, const char* name, int hidden) {
  uint32_t hash = 5381;
  for (const unsigned char* c = (const unsigned char*)name; *c != 0; ++c) hash = hash * 33 + *c;
  const uint32_t bucket_count = object->gnu_hash[0], first_symbol = object->gnu_hash[1], bloom_words = object->gnu_hash[2];
  const uint32_t* buckets = object->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = buckets + bucket_count;
  if (bucket_count == 0) return NULL;
  for (uint32_t index = buckets[hash % bucket_count]; index >= first_symbol && index != 0; ++index) {
    const uint32_t entry = chain[index - first_symbol];
    void* found = (entry | 1) == (hash | 1) ? match(object, index, name, hidden) : NULL;
    if (found != NULL) return found;
    if ((entry & 1) != 0) return NULL;
  }
  return NULL;
}

static void* find_in(const struct tables* object, const char* name, int hidden) {
  if (object->gnu_hash != NULL) return find_by_gnu_hash(object, name, hidden);
  for (uint32_t index = 1; index < object->old_hash[1]; ++index) {
    void* found = match(object, index, name, hidden);
    if (found != NULL) return found;
  }
  return NULL;
}

static int holds(const struct dl_phdr_info* object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && address - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz) return 1;
  }
  return 0;
}

static int is_own(const struct dl_phdr_info* object) {
  return holds(object, (uintptr_t)cupool_stubs);
}

struct search {
  uintptr_t after;  ///< only objects loaded after the one that holds this address
  const char* name;
  int passed;
  void* found;
};

static int search_object(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct search* search = argument;
  struct tables tables;
  const int starts_here = holds(object, search->after);
  if (search->passed && !starts_here && !is_own(object) && read_object(object, &tables)) {
    search->found = find_in(&tables, search->name, 0);
  }
  search->passed |= starts_here;
  return search->found != NULL;
}

void* cupool_find_beyond(const void* address, const char* name) {
  struct search search = {(uintptr_t)address, name, 0, NULL};
  dl_iterate_phdr(search_object, &search);
  return search.found;
}

// ---- the loader's functions; named by the assembly in stubs.c, hence not one structure ----

void* cupool_real_dlsym __attribute__((visibility("hidden")));
void* cupool_real_dlvsym __attribute__((visibility("hidden")));
void* cupool_real_dlmopen __attribute__((visibility("hidden")));
static struct cupool_loader loader_functions;

/// The loader's list of objects, as it keeps it for debuggers: reached from the program's dynamic section. Null where the kernel
/// did not start the program itself (ld.so was run by hand).
static const struct link_map* loaded_objects(void) {
  const ElfW(Phdr)* headers = (const void*)getauxval(AT_PHDR);
  const size_t count = getauxval(AT_PHNUM);
  uintptr_t base = 0;
  for (size_t i = 0; headers != NULL && i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) base = (uintptr_t)headers - headers[i].p_vaddr;
  }
  const ElfW(Dyn)* entry = headers != NULL ? dynamic_section(base, headers, count) : NULL;
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr != 0) return ((const struct r_debug*)entry->d_un.d_ptr)->r_map;
  }
  return NULL;
}

/// As cupool_find_beyond(our own, name), but with no call that a sanitizer wraps: it may be initialising. The first lookup of a
/// process comes before there are threads that unload libraries, or long after those libraries that hold these functions.
static void* find_loader_function(const char* name) {
  extern const ElfW(Dyn) own_dynamic_section[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
  int passed = 0;
  for (const struct link_map* object = loaded_objects(); object != NULL; object = object->l_next) {
    struct tables tables;
    void* found = passed && read_tables(object->l_addr, object->l_ld, &tables) ? find_in(&tables, name, 0) : NULL;
    if (found != NULL) return found;
    passed |= object->l_ld == own_dynamic_section;
  }
  return cupool_find_beyond(cupool_stubs, name);
}

const struct cupool_loader* cupool_loader(void) {
  // Threads that come here together find the same addresses; dlsym is stored last and read first.
  if (__atomic_load_n(&cupool_real_dlsym, __ATOMIC_ACQUIRE) == NULL) {
    struct cupool_loader* out = &loader_functions;
    *(void**)&out->dlvsym = cupool_real_dlvsym = find_loader_function("dlvsym");
    *(void**)&out->dlmopen = cupool_real_dlmopen = find_loader_function("dlmopen");
    *(void**)&out->dlopen = find_loader_function("dlopen");
    *(void**)&out->dlclose = find_loader_function("dlclose");
    *(void**)&out->dlerror = find_loader_function("dlerror");
    *(void**)&out->dladdr = find_loader_function("dladdr");
    void* found = find_loader_function("dlsym");
    *(void**)&out->dlsym = found;
    __atomic_store_n(&cupool_real_dlsym, found, __ATOMIC_RELEASE);
  }
  return &loader_functions;
}

// ---- our own object: which names we export ----

struct own {
  struct tables tables;
  uintptr_t begin;
  uintptr_t size;
  char path[512];
  int complete;
};
static struct own own_object;

static int remember_own(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct own* own = argument;
  if (!is_own(object)) return 0;
  read_object(object, &own->tables);
  own->begin = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const uintptr_t end = object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
    if (object->dlpi_phdr[i].p_type == PT_LOAD && end > own->size) own->size = end;
  }
  const size_t length = cupool_length(object->dlpi_name);
  if (length < sizeof own->path) cupool_copy(own->path, object->dlpi_name, length);
  return 1;
}

static const struct own* own(void) {
  if (!__atomic_load_n(&own_object.complete, __ATOMIC_ACQUIRE)) {
    dl_iterate_phdr(remember_own, &own_object);
    __atomic_store_n(&own_object.complete, 1, __ATOMIC_RELEASE);
  }
  return &own_object;
}

int cupool_slot_of(const char* name) {
  if (name == NULL || (!cupool_begins_with(name, "cu") && !cupool_begins_with(name, "nvml"))) return -1;
  const uintptr_t stub = (uintptr_t)find_in(&own()->tables, name, 1);
  const uintptr_t offset = stub - (uintptr_t)cupool_stubs;
  return stub != 0 && offset < (uintptr_t)CUPOOL_SLOT_COUNT * CUPOOL_STUB_BYTES ? (int)(offset / CUPOOL_STUB_BYTES) : -1;
}

int cupool_is_ours(const void* address) {
  return (uintptr_t)address - own()->begin < own()->size;
}

/// strtoul has a new symbol version in newer glibc.
static uintptr_t read_hex(const char** text) {
  uintptr_t value = 0;
  for (;; ++*text) {
    const char c = **text;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + (uintptr_t)digit;
  }
}

static char* find_char(char* text, char wanted) {
  while (*text != 0 && *text != wanted) ++text;
  return *text == wanted ? text : NULL;
}

/// The kernel's list of mappings knows the path even where LD_PRELOAD was relative and the process has moved since.
static size_t path_from_mappings(char* path, size_t size) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char line[640];
  size_t used = 0, length = 0;
  ssize_t got;
  while (length == 0 && (got = read(file, line + used, sizeof line - 1 - used)) > 0) {
    used += (size_t)got;
    line[used] = 0;
    char *start = line, *end;
    while ((end = find_char(start, '\n')) != NULL) {
      *end = 0;
      const char* number = start;
      const uintptr_t from = read_hex(&number);
      number += *number == '-';
      const uintptr_t to = read_hex(&number);
      const char* name = find_char(start, '/');
      if ((uintptr_t)cupool_stubs >= from && (uintptr_t)cupool_stubs < to && name != NULL && cupool_length(name) < size) {
        length = cupool_length(name);
        cupool_copy(path, name, length);
        break;
      }
      start = end + 1;
    }
    used = cupool_length(start);
    if (used == sizeof line - 1) used = 0;  // a line longer than the buffer is none of ours
    cupool_copy(line, start, used);
  }
  close(file);
  return length;
}

size_t cupool_own_folder(char* folder, size_t size) {
  const char* loaded_as = own()->path;
  size_t length = 0;
  if (loaded_as[0] == '/' && cupool_length(loaded_as) < size) {
    length = cupool_length(loaded_as);
    cupool_copy(folder, loaded_as, length);
  } else {
    length = path_from_mappings(folder, size);
  }
  while (length > 0 && folder[length - 1] != '/') --length;
  folder[length] = 0;
  return length;
}

const char* cupool_name_of(uint32_t slot) {
  // Our own symbol table holds every name already.
  const struct tables* tables = &own()->tables;
  const uintptr_t stub = (uintptr_t)cupool_stubs + (uintptr_t)slot * CUPOOL_STUB_BYTES;
  const ElfW(Sym)* symbol = tables->symbols;
  while (tables->base + symbol->st_value != stub) ++symbol;
  return tables->strings + symbol->st_name;
}
