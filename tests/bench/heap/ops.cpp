// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/ops.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "pool/trace.h"
#include "tests/bench/heap/contestant.h"
#include "tests/bench/heap/pytorch_cache.h"

namespace cupool::bench {

OpsBuilder::OpsBuilder(std::string name, std::string file, std::string level) {
  ops_.name = std::move(name);
  ops_.file = std::move(file);
  ops_.level = std::move(level);
}

void OpsBuilder::count(std::uint64_t live_bytes) {
  ops_.live.push_back(live_bytes);
  ops_.largest_live = std::max(ops_.largest_live, live_bytes);
  ops_.most_blocks = std::max<std::uint64_t>(ops_.most_blocks, live_.size());
}

void OpsBuilder::allocate(std::uint64_t id, std::uint64_t bytes) {
  if (free_slots_.empty()) {
    free_slots_.push_back(ops_.slots++);
    bytes_of_slot_.push_back(0);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const auto place =
      std::lower_bound(live_.begin(), live_.end(), id, [](const Live& each, std::uint64_t wanted) { return each.id < wanted; });
  live_.insert(place, Live{id, slot});
  bytes_of_slot_[slot] = rounded(bytes);
  ops_.list.push_back(Op{slot, rounded(bytes)});
  count((ops_.live.empty() ? 0 : ops_.live.back()) + rounded(bytes));
}

void OpsBuilder::free(std::uint64_t id) {
  const auto place =
      std::lower_bound(live_.begin(), live_.end(), id, [](const Live& each, std::uint64_t wanted) { return each.id < wanted; });
  const std::uint32_t slot = place->slot;
  live_.erase(place);
  free_slots_.push_back(slot);
  ops_.list.push_back(Op{slot, 0});
  count(ops_.live.back() - bytes_of_slot_[slot]);
}

Ops OpsBuilder::finish() {
  while (!live_.empty()) free(live_.front().id);
  return std::move(ops_);
}

Ops read_ops(const std::string& file) {
  const auto events = pool::read_trace(file);
  if (!events) {
    std::fprintf(stderr, "heap_bench: %s: %s\n", events.error().place.c_str(), events.error().text.c_str());
    std::exit(2);
  }
  std::string name = std::filesystem::path(file).filename().string();
  if (name.ends_with(".trace")) name.resize(name.size() - 6);
  OpsBuilder builder(name, file, "tensor");
  for (const pool::TraceEvent& event : *events) {
    if (event.kind == pool::TraceEvent::Kind::allocate) {
      builder.allocate(event.id, event.size.count);
    } else {
      builder.free(event.id);
    }
  }
  return builder.finish();
}

Ops driver_level(const Ops& tensor_level) {
  OpsBuilder builder(tensor_level.name + ".driver", tensor_level.file, "driver");
  std::uint64_t segments = 0;
  PyTorchCache cache([&builder, &segments](std::uint64_t bytes) { builder.allocate(segments++, bytes); });
  std::vector<Block> blocks(tensor_level.slots);
  for (const Op& op : tensor_level.list) {
    if (op.bytes != 0) {
      blocks[op.slot] = cache.take(op.bytes);
    } else {
      cache.give_back(blocks[op.slot]);
    }
  }
  return builder.finish();
}

}  // namespace cupool::bench
