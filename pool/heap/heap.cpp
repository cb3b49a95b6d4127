// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/heap.h"

#include <bit>
#include <new>

#include "pool/heap/buddy.h"
#include "pool/heap/slab_heap.h"
#include "pool/heap/tlsf.h"

namespace cupool::pool {
namespace {

std::unique_ptr<Heap> make_engine(const HeapConfig& config) {
  switch (config.engine) {
    case Engine::tlsf:
      return std::make_unique<Tlsf>(config);
    case Engine::buddy:
      return std::make_unique<Buddy>(config);
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Heap>> make_heap(const HeapConfig& config) {
  if (config.capacity.count == 0 || config.capacity > kMaxCapacity) return fail(Errc::invalid_argument, "heap: capacity");
  if (!std::has_single_bit(config.handle.count) || config.handle > kMaxCapacity)
    return fail(Errc::invalid_argument, "heap: handle");
  if (config.slabs && (!std::has_single_bit(config.slab.count) || config.slab.count < 2 || config.slab.count > Slab::kMaxLength)) {
    return fail(Errc::invalid_argument, "heap: slab");
  }
  if (config.slabs && (config.slack_share == 0 || config.region_share == 0)) {
    return fail(Errc::invalid_argument, "heap: slack_share or region_share");
  }
  try {
    std::unique_ptr<Heap> engine = make_engine(config);
    if (engine == nullptr) return fail(Errc::invalid_argument, "heap: engine");
    if (!config.slabs) return engine;
    return std::make_unique<SlabHeap>(std::move(engine), config);
  } catch (const std::bad_alloc&) {
    return fail(Errc::no_memory, "heap: metadata");
  }
}

}  // namespace cupool::pool
