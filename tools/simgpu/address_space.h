// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "policy/base/result.h"

namespace cupool::simgpu {

/// Hands out address ranges of one or more regions, first fit at the lowest address, merging what comes back. Sizes and alignments
/// are the caller's; nothing is dereferenced. Cost: linear in the number of free runs (few: neighbours merge). Not thread-safe.
class AddressSpace {
 public:
  /// Adds a free region, which must not touch or overlap what is known.
  void add(std::uint64_t base, std::uint64_t bytes);

  /// Errc::no_space when no free run fits. `alignment` is a power of two.
  Result<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);

  /// Takes exactly [base, base + bytes) if all of it is free, else Errc::no_space.
  Result<std::uint64_t> take_at(std::uint64_t base, std::uint64_t bytes);

  /// Returns a range obtained before, whole or in parts.
  void give_back(std::uint64_t base, std::uint64_t bytes);

  std::uint64_t free_bytes() const;
  std::size_t free_runs() const { return free_.size(); }

 private:
  void cut(std::map<std::uint64_t, std::uint64_t>::iterator run, std::uint64_t base, std::uint64_t bytes);

  std::map<std::uint64_t, std::uint64_t> free_;  // start -> length
};

}  // namespace cupool::simgpu
