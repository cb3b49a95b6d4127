// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "pool/lock_rank.h"
#include "pool/request.h"
#include "pool/unit.h"

namespace cupool::pool {

/// What a job uses of a device without the pool having carved it.
enum class BesideKind : std::uint8_t {
  context,  ///< what the driver takes for a context
  module,   ///< code and globals of loaded modules
  managed,  ///< managed memory
  array,    ///< arrays and textures
  own_vmm,  ///< physical memory that the program created by itself
  direct,   ///< allocations served by the driver: a job that is served directly, or what cannot be pooled
};
inline constexpr std::size_t kBesideKinds = 6;
const char* to_text(BesideKind kind);

struct BesideStats {
  struct Kind {
    Bytes now;
    Bytes peak;
    std::uint64_t charges = 0, credits = 0, refusals = 0;
  };
  std::array<Kind, kBesideKinds> kinds;
  Bytes total;      ///< the sum over kinds
  Units leased{};   ///< whole units that hold it
  Bytes overdrawn;  ///< charged although no unit could be had: the part of `total` that no lease covers
};

/// One device's account of what is beside the pool. The sum takes whole units from the same source as the arena.
/// Thread-safe; no lock is held over a call of the source.
class BesideAccount {
 public:
  BesideAccount(UnitShape shape, UnitSource& units) : shape_(shape), units_(units) {}

  /// Charges before the memory is obtained. Refused, changing nothing, when the units cannot be had: the caller makes room in the
  /// arena (it knows how many units are lacking) and tries again.
  struct Lacking {
    Units units{};
    LeaseRefusal refusal;
  };
  tl::expected<Done, Lacking> charge(BesideKind kind, Bytes bytes);

  /// Charges what has happened already: never refused. What no unit covers is overdrawn until cover() or a credit makes up for it.
  void charge_anyway(BesideKind kind, Bytes bytes);

  /// Ends a charge. More than was charged counts as what was charged.
  void credit(BesideKind kind, Bytes bytes);

  /// Tries to lease what is overdrawn.
  void cover();

  /// Everything is gone with the context.
  void drop();

  Bytes total() const;
  BesideStats stats() const;
  void count_refusal(BesideKind kind);

 private:
  void add(BesideKind kind, Bytes bytes) CUPOOL_REQUIRES(mutex_);
  void give_up_surplus();

  const UnitShape shape_;
  UnitSource& units_;
  mutable RankedMutex mutex_{LockRank::beside};
  std::array<BesideStats::Kind, kBesideKinds> kinds_ CUPOOL_GUARDED_BY(mutex_);
  Bytes total_ CUPOOL_GUARDED_BY(mutex_){};
  Units leased_ CUPOOL_GUARDED_BY(mutex_){};
};

}  // namespace cupool::pool
