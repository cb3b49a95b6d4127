// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>

#include "policy/base/result.h"
#include "policy/base/units.h"

namespace cupool::pool {

/// A place in a device's address space. Never dereferenced: the pool deals in numbers.
struct Address {
  std::uint64_t value = 0;

  constexpr auto operator<=>(const Address&) const = default;
  friend constexpr Address operator+(Address at, Bytes distance) { return Address{at.value + distance.count}; }
  friend constexpr Bytes operator-(Address end, Address begin) { return Bytes{end.value - begin.value}; }
};

/// One piece of physical memory, as the backing names it. Opaque; never zero.
enum class HandleId : std::uint64_t {};
inline constexpr HandleId kNoHandle{0};

/// One device's memory as the driver hands it out: address ranges, handles, and mappings between them.
///
/// The order of a life: reserve, create, map ... unmap, release, free_range. Every call is all or nothing: a call that fails has
/// changed nothing, so the caller knows what is mapped without asking. A handle is mapped at one place at most.
/// Thread-safe, and slow (tens of microseconds and more on a driver): no lock of the pool is held over any of these calls.
/// Errors: no_memory (create: the device is full), no_space (reserve), invalid_argument (the order above was broken), driver.
class Backing {
 public:
  virtual ~Backing() = default;

  /// An address range of `size`, nothing mapped in it, starting at a multiple of `alignment` (a power of two).
  virtual Result<Address> reserve(Bytes size, Bytes alignment) = 0;

  /// Physical memory of exactly `size`, mapped nowhere yet.
  virtual Result<HandleId> create(Bytes size) = 0;

  /// Maps `handles`, each of `size`, one after another from `at`, readable and writable by this process's device.
  virtual Result<Done> map(Address at, Bytes size, std::span<const HandleId> handles) = 0;

  /// Removes every mapping in [at, at + length). The range begins and ends at borders of mappings and has no gap. Does not wait
  /// for running work: whoever calls knows that nothing uses the range.
  virtual Result<Done> unmap(Address at, Bytes length) = 0;

  /// Gives the physical memory back to the driver. The handle is not mapped.
  virtual Result<Done> release(HandleId handle) = 0;

  /// Gives an address range back. Nothing is mapped in it.
  virtual Result<Done> free_range(Address at, Bytes size) = 0;
};

}  // namespace cupool::pool
