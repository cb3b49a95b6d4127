// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/address_space.h"

namespace cupool::simgpu {

void AddressSpace::add(std::uint64_t base, std::uint64_t bytes) {
  give_back(base, bytes);
}

Result<std::uint64_t> AddressSpace::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto run = free_.begin(); run != free_.end(); ++run) {
    const std::uint64_t base = (run->first + alignment - 1) & ~(alignment - 1);
    const std::uint64_t lost = base - run->first;
    if (base < run->first || run->second < lost || run->second - lost < bytes) continue;
    cut(run, base, bytes);
    return base;
  }
  return fail(Errc::no_space, "no address range is large enough");
}

Result<std::uint64_t> AddressSpace::take_at(std::uint64_t base, std::uint64_t bytes) {
  auto run = free_.upper_bound(base);
  if (run == free_.begin()) return fail(Errc::no_space);
  --run;
  const std::uint64_t before = base - run->first;
  if (run->second < before || run->second - before < bytes) return fail(Errc::no_space);
  cut(run, base, bytes);
  return base;
}

void AddressSpace::cut(std::map<std::uint64_t, std::uint64_t>::iterator run, std::uint64_t base, std::uint64_t bytes) {
  const std::uint64_t start = run->first;
  const std::uint64_t end = start + run->second;
  free_.erase(run);
  if (base > start) free_.emplace(start, base - start);
  if (end > base + bytes) free_.emplace(base + bytes, end - base - bytes);
}

void AddressSpace::give_back(std::uint64_t base, std::uint64_t bytes) {
  auto after = free_.lower_bound(base);
  if (after != free_.end() && base + bytes == after->first) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == base) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(base, bytes);
}

std::uint64_t AddressSpace::free_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [start, length] : free_) sum += length;
  return sum;
}

}  // namespace cupool::simgpu
