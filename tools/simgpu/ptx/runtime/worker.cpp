// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/worker.h"

#include <algorithm>

namespace cupool::simgpu::ptx {

void LaunchState::report(const Fault& given, std::string text) {
  const std::lock_guard lock(mutex);
  // Relaxed is enough for readers outside of the lock: they only use it to stop early.
  if (given.block >= first_fault.load(std::memory_order_relaxed)) return;
  first_fault.store(given.block, std::memory_order_relaxed);
  fault = given;
  detail = std::move(text);
}

void Worker::forget_pages() {
  for (abi::sg_page& page : pages) page.read = page.write = 1;
}

void Worker::begin(LaunchState& launch, const std::uint64_t* global_addresses) {
  state = &launch;
  rt = &kRuntime;
  const Launch& given = launch.launch;
  const std::uint32_t block_size[3] = {given.block.x, given.block.y, given.block.z};
  const std::uint32_t grid_size[3] = {given.grid.x, given.grid.y, given.grid.z};
  std::copy(block_size, block_size + 3, ntid);
  std::copy(grid_size, grid_size + 3, nctaid);
  params = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(given.parameters.data()));
  param_size = given.parameters.size();
  globals = reinterpret_cast<const abi::u64*>(global_addresses);  // same size, another name of it
  shared_offsets = launch.plan.shared_offsets.data();
  dynamic_shared = launch.plan.dynamic_shared_offset;
  kernel_shared_total = dynamic_shared + given.dynamic_shared_bytes;
  shared_limit = std::max(launch.plan.info.shared_bytes, given.dynamic_shared_bytes > 0 ? kernel_shared_total : 0U);
  local_limit = launch.plan.info.local_bytes;
  // Rounded up so that the quick check of an aligned access needs to look at its first byte only.
  const auto rounded = [](std::uint64_t bytes) { return (bytes + 31) & ~std::uint64_t{31}; };
  if (shared_memory.size() < rounded(shared_limit)) shared_memory.resize(rounded(shared_limit));
  shared = shared_memory.data();
  // In the last 32 bytes the quick check could let something pass the true end: leave those to the exact one.
  shared_size = launch.control.check ? 0 : shared_limit & ~std::uint64_t{31};
  local_size = launch.control.check ? 0 : local_limit & ~std::uint64_t{31};
  fuel = kFuel;
  grid_id = 1;
  forget_pages();
}

void Worker::set_block(std::uint64_t linear) {
  block = linear;
  ctaid[0] = static_cast<std::uint32_t>(linear % nctaid[0]);
  ctaid[1] = static_cast<std::uint32_t>(linear / nctaid[0] % nctaid[1]);
  ctaid[2] = static_cast<std::uint32_t>(linear / nctaid[0] / nctaid[1]);
}

void Worker::leave(Outcome::Kind kind, std::uint32_t line) {
  fault.kind = kind;
  fault.line = line;
  fault.block = block;
  std::copy(tid, tid + 3, fault.thread);
  std::longjmp(escape, 1);
}

Outcome::Kind Worker::interruption() const {
  // Relaxed: seen a little later is early enough, and nothing else is read because of it.
  if (state->first_fault.load(std::memory_order_relaxed) < block) return Outcome::Kind::stopped;
  if (state->control.stop != nullptr && state->control.stop->load(std::memory_order_relaxed)) return Outcome::Kind::stopped;
  if (state->control.limit.count() > 0 && std::chrono::steady_clock::now() > state->deadline) return Outcome::Kind::timeout;
  return Outcome::Kind::ok;
}

}  // namespace cupool::simgpu::ptx
