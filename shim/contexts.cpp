// SPDX-License-Identifier: Apache-2.0
#include "shim/contexts.h"

namespace cupool::shim {

ContextFacts ContextTable::facts_at(std::size_t index) const {
  const Slot& slot = slots_[index];
  return {slot.handle.load(std::memory_order_acquire), slot.device.load(std::memory_order_relaxed),
          static_cast<ContextNumber>(index + 1), slot.fatal.load(std::memory_order_relaxed)};
}

ContextFacts ContextTable::find(CUcontext context) const {
  const std::size_t end = end_.load(std::memory_order_acquire);
  for (std::size_t index = 0; index < end; ++index) {
    // Acquire pairs with add(): the device was written before the handle.
    if (slots_[index].handle.load(std::memory_order_acquire) == context) return facts_at(index);
  }
  return {};
}

ContextFacts ContextTable::at(ContextNumber number) const {
  return number == 0 || number > kMaxContexts ? ContextFacts{} : facts_at(number - 1u);
}

ContextFacts ContextTable::add(CUcontext context, CUdevice device) {
  pool::RankedLock lock(mutex_);
  if (const ContextFacts known = find(context); known.number != 0) return known;
  for (std::size_t index = 0; index < kMaxContexts; ++index) {
    Slot& slot = slots_[index];
    if (slot.handle.load(std::memory_order_relaxed) != nullptr) continue;
    slot.device.store(device, std::memory_order_relaxed);
    slot.fatal.store(CUDA_SUCCESS, std::memory_order_relaxed);
    slot.handle.store(context, std::memory_order_release);
    if (index >= end_.load(std::memory_order_relaxed)) end_.store(index + 1, std::memory_order_release);
    return facts_at(index);
  }
  return {};
}

void ContextTable::remove(CUcontext context) {
  pool::RankedLock lock(mutex_);
  const ContextFacts known = find(context);
  if (known.number != 0) slots_[known.number - 1u].handle.store(nullptr, std::memory_order_release);
}

void ContextTable::failed(CUcontext context, CUresult code) {
  const ContextFacts known = find(context);
  if (known.number != 0) slots_[known.number - 1u].fatal.store(code, std::memory_order_relaxed);
}

}  // namespace cupool::shim
