// SPDX-License-Identifier: Apache-2.0
//
// Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004), reduced to what is needed: scopes publish the epoch in which
// they began, a retired item remembers the epoch that its retirement ended, and is freed when no open scope is that old.
#include "tools/simgpu/read_scope.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <vector>

namespace cupool::simgpu {
namespace {

constexpr std::size_t kSlots = 512;

struct alignas(64) Slot {
  std::atomic<std::uint64_t> since{0};  // 0: no scope open
  std::atomic<bool> taken{false};
};

struct Item {
  std::uint64_t epoch;
  void* memory;
  std::size_t bytes;
  GiveUp give_up;
};

struct Epochs {
  std::atomic<std::uint64_t> now{1};
  std::array<Slot, kSlots> slots;
  /// Scopes of threads beyond the slots: while there is one, nothing is freed.
  std::atomic<std::uint64_t> unslotted{0};
  std::atomic<bool> waiting{false};
  std::mutex mutex;
  std::vector<Item> items;
};

// Never destroyed: workers may still run while static destructors do.
Epochs& epochs() {
  static Epochs* instance = new Epochs;
  return *instance;
}

struct ThreadSlot {
  Slot* slot = nullptr;
  unsigned depth = 0;
};
thread_local ThreadSlot t_slot;

// On the thread that ends, which must not use the slot again: it may be another thread's by then.
void release_slot(void* slot) {
  t_slot.slot = nullptr;
  static_cast<Slot*>(slot)->taken.store(false, std::memory_order_release);
}

Slot* claim_slot() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, &release_slot);
    return made;
  }();
  for (Slot& slot : epochs().slots) {
    bool free = false;
    if (!slot.taken.load(std::memory_order_relaxed) && slot.taken.compare_exchange_strong(free, true, std::memory_order_acquire)) {
      pthread_setspecific(key, &slot);
      return &slot;
    }
  }
  return nullptr;
}

void free_what_is_unused() {
  Epochs& all = epochs();
  std::vector<Item> unused;
  {
    const std::lock_guard lock(all.mutex);
    std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
    for (const Slot& slot : all.slots) {
      const std::uint64_t since = slot.since.load(std::memory_order_seq_cst);
      if (since != 0 && since < oldest) oldest = since;
    }
    if (all.unslotted.load(std::memory_order_seq_cst) != 0) oldest = 0;
    std::erase_if(all.items, [&](const Item& item) {
      if (item.epoch >= oldest) return false;
      unused.push_back(item);
      return true;
    });
    all.waiting.store(!all.items.empty(), std::memory_order_seq_cst);
  }
  for (const Item& item : unused) item.give_up(item.memory, item.bytes);
}

}  // namespace

ReadScope::ReadScope() {
  if (t_slot.depth++ != 0) return;
  Epochs& all = epochs();
  if (t_slot.slot == nullptr) t_slot.slot = claim_slot();
  // An exchange, because it is a full barrier: the reads of the page table that follow cannot move before it.
  if (t_slot.slot != nullptr) {
    t_slot.slot->since.exchange(all.now.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
  } else {
    all.unslotted.fetch_add(1, std::memory_order_seq_cst);
  }
}

ReadScope::~ReadScope() {
  if (--t_slot.depth != 0) return;
  Epochs& all = epochs();
  if (t_slot.slot != nullptr) {
    t_slot.slot->since.store(0, std::memory_order_seq_cst);
  } else {
    all.unslotted.fetch_sub(1, std::memory_order_seq_cst);
  }
  if (all.waiting.load(std::memory_order_seq_cst)) free_what_is_unused();
}

void retire(void* memory, std::size_t bytes, GiveUp give_up) {
  Epochs& all = epochs();
  {
    const std::lock_guard lock(all.mutex);
    // Scopes that begin from here on carry a later epoch and find the page table already without this memory.
    all.items.push_back(Item{all.now.fetch_add(1, std::memory_order_seq_cst), memory, bytes, give_up});
    all.waiting.store(true, std::memory_order_seq_cst);
  }
  free_what_is_unused();
}

std::size_t retired_bytes() {
  const std::lock_guard lock(epochs().mutex);
  std::size_t sum = 0;
  for (const Item& item : epochs().items) sum += item.bytes;
  return sum;
}

}  // namespace cupool::simgpu
