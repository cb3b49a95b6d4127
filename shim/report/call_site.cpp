// SPDX-License-Identifier: Apache-2.0
#include "shim/report/call_site.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace cupool::report {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// Fills an array with return addresses, innermost first, and returns how many.
using Backtrace = int (*)(void** addresses, int capacity);

enum Unwinder : std::uint64_t { kNotNeeded, kInUse, kNotAvailable };

Backtrace open_unwinder() {
  void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
}

Backtrace unwinder() {
  // Opened once; two threads that come first together both get the same library, so the second store changes nothing.
  static constinit std::atomic<bool> tried{false};
  static constinit std::atomic<Backtrace> function{nullptr};
  if (!tried.load(std::memory_order_acquire)) {
    function.store(open_unwinder(), kRelaxed);
    tried.store(true, std::memory_order_release);
  }
  return function.load(kRelaxed);
}

std::uint64_t hash_of(void* const* addresses, int count) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over whole words
  for (int index = 0; index < count; ++index) {
    hash ^= reinterpret_cast<std::uint64_t>(addresses[index]);
    hash *= 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

template <std::size_t N>
void set_text(Text<N>& target, const char* text) {
  const std::size_t length = std::min(std::strlen(text), N - 1);
  std::memcpy(target.data(), text, length);
  target[length] = '\0';
}

void describe(Frame& frame, void* address) {
  Dl_info info{};
  frame.offset = reinterpret_cast<std::uint64_t>(address);
  if (dladdr(address, &info) == 0) return;
  if (info.dli_fname != nullptr) {
    frame.offset -= reinterpret_cast<std::uint64_t>(info.dli_fbase);
    set_text(frame.module, info.dli_fname);
  }
  if (info.dli_sname != nullptr) set_text(frame.function, info.dli_sname);
}

/// The record of a stack: the one that has it, or a free one that now belongs to it. Null when all are taken.
SiteRecord* find_or_claim(ProcessRecord& record, std::uint64_t key, bool& claimed) {
  for (std::size_t probe = 0; probe < kMaxSites; ++probe) {
    SiteRecord& site = record.sites[(key + probe) % kMaxSites];
    std::uint64_t seen = site.key.load(kRelaxed);
    if (seen == 0 && site.key.compare_exchange_strong(seen, key, kRelaxed)) {
      claimed = true;
      return &site;
    }
    if (seen == key) return &site;
  }
  return nullptr;
}

}  // namespace

SiteNumber note_call_site(ProcessRecord& record, std::uint64_t weight, int skip) {
  const Backtrace backtrace = unwinder();
  record.unwinder.store(backtrace == nullptr ? kNotAvailable : kInUse, kRelaxed);
  if (backtrace == nullptr) return 0;
  std::array<void*, kMaxFrames + 8> addresses{};
  const int own_frames = std::min(skip + 1, 8);
  const int depth = backtrace(addresses.data(), static_cast<int>(addresses.size())) - own_frames;
  if (depth <= 0) return 0;
  const int kept = std::min(depth, static_cast<int>(kMaxFrames));
  void* const* stack = addresses.data() + own_frames;
  bool claimed = false;
  SiteRecord* site = find_or_claim(record, hash_of(stack, kept), claimed);
  if (site == nullptr) {
    record.site_overflow.fetch_add(1, kRelaxed);
    return 0;
  }
  if (claimed) {
    site->depth = static_cast<std::uint32_t>(kept);
    for (int index = 0; index < kept; ++index) describe(site->frames[static_cast<std::size_t>(index)], stack[index]);
    // Release: a reader that sees `ready` sees the frames.
    site->ready.store(1, std::memory_order_release);
  }
  site->samples.fetch_add(1, kRelaxed);
  site->allocated_bytes.fetch_add(weight, kRelaxed);
  return static_cast<SiteNumber>(site - record.sites.data() + 1);
}

}  // namespace cupool::report
