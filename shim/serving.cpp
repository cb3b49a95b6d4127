// SPDX-License-Identifier: Apache-2.0
#include "shim/serving.h"

#include <vector>

#include "shim/block_tag.h"
#include "shim/capture.h"
#include "shim/context_scope.h"
#include "shim/real_driver.h"
#include "shim/session.h"
#include "shim/translate.h"

namespace cupool::shim {
namespace {

/// Drivers hand out device memory in steps of 2 MiB.
constexpr std::uint64_t kDriverStep = 2 * kMiB.count;

/// The device that a request is for, or the code that answers it.
struct Place {
  Device* device = nullptr;
  ContextFacts context;
  CUresult code = CUDA_SUCCESS;
};

Place place_of(const Wanted& wanted) {
  Process& self = process();
  Place place;
  place.context = self.current_context();
  if (place.context.number == 0) return place;  // no context, or too many: the driver answers
  if (place.context.fatal != CUDA_SUCCESS) {
    place.code = place.context.fatal;
    return place;
  }
  place.device = self.device(place.context.device);
  if (place.device != nullptr && !place.device->fault().empty()) {
    place.code = self.refusals().tell_closed(wanted.entry, Bytes{wanted.bytes}, place.device->fault());
  }
  return place;
}

/// What the driver itself says to an allocation now; the memory is given back at once.
CUresult trial_allocation() {
  CUdeviceptr trial = 0;
  const CUresult code = driver::cuMemAlloc_v2(&trial, 1);
  if (code == CUDA_SUCCESS) driver::cuMemFree_v2(trial);
  return code;
}

/// A driver call of the pool failed: when the context has died, every later call must say so, as on the driver, and "out of memory"
/// would send the program looking for memory. Success when it lives.
CUresult fatal_error(const Place& place, const pool::Refusal& refusal) {
  if (refusal.rule != pool::Rule::driver) return CUDA_SUCCESS;
  const CUresult code = trial_allocation();
  if (!is_fatal_to_context(code)) return CUDA_SUCCESS;
  process().contexts().failed(place.context.handle, code);
  return code;
}

CUresult serve_from_pool(const Wanted& wanted, const Place& place, CUdeviceptr* address) {
  Process& self = process();
  const BlockTag tag{recorder().sample_site(Bytes{wanted.bytes}, 3), place.context.number};
  pool::Request request;
  request.device = place.device->id();
  request.size = Bytes{wanted.bytes};
  request.alignment = Bytes{wanted.alignment};
  request.call_site = tag.packed();
  const std::uint64_t calls_before = place.device->backing().calls();
  const pool::Granted<pool::Block> block = self.pool().allocate(request);
  if (place.device->backing().calls() != calls_before) self.tell_account(*place.device);
  if (!block) {
    if (const CUresult fatal = fatal_error(place, block.error()); fatal != CUDA_SUCCESS) return fatal;
    return self.refusals().tell(*place.device, wanted.entry, block.error());
  }
  recorder().allocated(request.device.index, block->base.value, block->size, block->given, tag.site);
  *address = block->base.value;
  self.service_if_due();
  return CUDA_SUCCESS;
}

CUresult end_beside(const pool::Block& block) {
  const BlockTag tag = BlockTag::of(block);
  recorder().freed(block.device.index, block.base.value, block.size, block.given, tag.site);
  process().pool().disown(block.base);
  if (Device* device = process().device_if_open(static_cast<CUdevice>(block.device.index))) process().tell_account(*device);
  return CUDA_SUCCESS;
}

/// The driver's own promise with "free": "wait": nothing of this context runs any more when the call returns.
pool::FreeAfter free_after(const pool::Block& block) {
  const Device* device = process().device_if_open(static_cast<CUdevice>(block.device.index));
  if (device == nullptr || !device->waits_on_free() || OpenCaptures::any()) return {pool::FreeAfter::Kind::all, {}};
  return {driver::cuCtxSynchronize() == CUDA_SUCCESS ? pool::FreeAfter::Kind::nothing : pool::FreeAfter::Kind::all, {}};
}

}  // namespace

CUresult capture_verdict() {
  if (!OpenCaptures::any()) return CUDA_SUCCESS;
  // The driver itself decides, by a call of the same kind; it also invalidates the capture, as the program's own call would.
  const CUresult code = trial_allocation();
  // Neither a full device nor a thread without a context says anything about captures.
  return code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : code;
}

CUresult serve(const Wanted& wanted, CUdeviceptr* address, const DriverCall& driver_call) {
  Process& self = process();
  if (address == nullptr || wanted.bytes == 0) return driver_call(address);
  if (self.is_closed()) return self.refusals().tell_closed(wanted.entry, Bytes{wanted.bytes}, self.governor().reason());
  if (!self.is_governed()) return driver_call(address);
  const Place place = place_of(wanted);
  if (place.code != CUDA_SUCCESS) return place.code;
  if (place.device == nullptr) return driver_call(address);
  if (!place.device->is_pooled()) {
    const std::uint64_t given = round_up(wanted.bytes, kDriverStep).value_or(wanted.bytes);
    return serve_beside(wanted, pool::BesideKind::direct, Bytes{given}, address, driver_call);
  }
  if (const CUresult verdict = capture_verdict(); verdict != CUDA_SUCCESS) return verdict;
  return serve_from_pool(wanted, place, address);
}

CUresult serve_beside(const Wanted& wanted, pool::BesideKind kind, Bytes given, CUdeviceptr* address,
                      const DriverCall& driver_call) {
  Process& self = process();
  if (address == nullptr || wanted.bytes == 0) return driver_call(address);
  if (self.is_closed()) return self.refusals().tell_closed(wanted.entry, Bytes{wanted.bytes}, self.governor().reason());
  if (!self.is_governed()) return driver_call(address);
  const Place place = place_of(wanted);
  if (place.code != CUDA_SUCCESS) return place.code;
  if (place.device == nullptr) return driver_call(address);
  const pool::DeviceId id = place.device->id();
  if (const auto charged = self.pool().charge(id, kind, given); !charged)
    return self.refusals().tell(*place.device, wanted.entry, charged.error());
  CUdeviceptr got = 0;
  const CUresult code = driver_call(&got);
  if (code != CUDA_SUCCESS) {
    self.pool().credit(id, kind, given);
    return code;
  }
  const BlockTag tag{recorder().sample_site(Bytes{wanted.bytes}, 3), place.context.number};
  const auto adopted = self.pool().adopt(id, kind, pool::Address{got}, Bytes{wanted.bytes}, given, tag.packed());
  if (!adopted) self.pool().credit(id, kind, given);  // unknown to queries, and free again for the account: the driver has it
  recorder().allocated(id.index, got, Bytes{wanted.bytes}, given, tag.site);
  self.tell_account(*place.device);
  *address = got;
  return CUDA_SUCCESS;
}

CUresult give_back(CUdeviceptr address, const std::function<CUresult()>& driver_call) {
  Process& self = process();
  if (!self.is_governed() || address == 0) return driver_call();
  const auto found = self.pool().query(pool::Address{address});
  if (!found) return driver_call();
  if (found->beside) {
    const CUresult code = driver_call();
    if (code == CUDA_SUCCESS && found->block.base.value == address) end_beside(found->block);
    return code;
  }
  // As on the driver, a free needs no current context.
  if (const CUresult verdict = capture_verdict(); verdict != CUDA_SUCCESS) return verdict;
  const Result<pool::Freed> freed = self.pool().free(pool::Address{address}, free_after(found->block));
  if (!freed) return CUDA_ERROR_INVALID_VALUE;  // an interior address, or freed by another thread a moment ago
  recorder().freed(freed->block.device.index, address, freed->block.size, freed->block.given, BlockTag::of(freed->block).site);
  self.service_if_due();
  return CUDA_SUCCESS;
}

CUresult give_back_in_order(CUdeviceptr address, CUstream stream) {
  Process& self = process();
  // A stream that the program created has a mark of its own; work on default streams is waited for as a whole.
  const pool::FreeAfter after =
      self.streams().is_live(stream)
          ? pool::FreeAfter{pool::FreeAfter::Kind::stream, static_cast<pool::StreamId>(reinterpret_cast<std::uintptr_t>(stream))}
          : pool::FreeAfter{pool::FreeAfter::Kind::all, {}};
  const Result<pool::Freed> freed = self.pool().free(pool::Address{address}, after);
  if (!freed) return CUDA_ERROR_INVALID_VALUE;
  recorder().freed(freed->block.device.index, address, freed->block.size, freed->block.given, BlockTag::of(freed->block).site);
  return CUDA_SUCCESS;
}

void end_blocks_of(CUcontext context) {
  Process& self = process();
  const ContextFacts facts = self.contexts().find(context);
  if (facts.number == 0) return;
  Device* device = self.device_if_open(facts.device);
  if (device != nullptr) {
    {
      // What the blocks hold may still be in use: the context's end waits for its work, and so do we.
      const ContextScope scope{context};
      if (scope.entered() && !OpenCaptures::any()) driver::cuCtxSynchronize();
    }
    std::vector<pool::Block> ending;
    self.pool().for_each_block(device->id(), [&](const pool::Block& block) {
      if (BlockTag::of(block).context == facts.number) ending.push_back(block);
    });
    for (const pool::Block& block : ending) {
      if (self.pool().free(block.base, {pool::FreeAfter::Kind::nothing, {}})) {
        recorder().freed(block.device.index, block.base.value, block.size, block.given, BlockTag::of(block).site);
      }
    }
    device->completions().dropped(context);
  }
  self.streams().dropped(context);
  self.contexts().remove(context);
  if (device == nullptr) return;
  self.pool().give_back(device->id(), Units{UINT32_MAX});
  self.tell_account(*device);
}

}  // namespace cupool::shim
