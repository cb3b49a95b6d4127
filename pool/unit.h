// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "policy/base/result.h"
#include "policy/base/units.h"
#include "pool/lock_rank.h"
#include "pool/request.h"

namespace cupool::pool {

/// How a unit is made up. The unit is a multiple of the handle; both are powers of two or, for the unit, a multiple of 128 MiB.
struct UnitShape {
  Bytes unit = kUnitStep;
  Bytes handle{8 * kMiB.count};

  std::uint64_t handles_per_unit() const { return unit.count / handle.count; }
  Units units_for_handles(std::uint64_t handles) const { return Units{(handles + handles_per_unit() - 1) / handles_per_unit()}; }
  bool is_valid() const {
    return handle.count != 0 && is_power_of_two(handle.count) && unit.count != 0 && unit.count % handle.count == 0;
  }
};

/// Why no units came.
struct LeaseRefusal {
  Errc code = Errc::over_limit;
  Rule rule = Rule::job_limit;
};

/// Who grants units to this process: the account shared between jobs, or a limit of its own.
///
/// A lease comes before the memory is created and ends after it was released: whatever happens between, the account shows too much
/// and never too little. Thread-safe; may wait (for other jobs), so no lock of the pool is held over a call.
class UnitSource {
 public:
  virtual ~UnitSource() = default;

  /// Grants at least `least` and at most `most` units (0 <= least <= most, most > 0), or refuses and changes nothing.
  /// With `least` of zero it does not wait and may grant none.
  virtual tl::expected<Units, LeaseRefusal> lease(Units least, Units most) = 0;

  /// Ends the lease of units that hold nothing any more.
  virtual void give_up(Units units) = 0;

  /// The most units this process may lease now: what the job's view is made of.
  virtual Units limit() const = 0;

  /// Units that somebody else waits for and that this process should return if it can.
  virtual Units wanted() const = 0;
};

/// A limit that binds this process alone.
class LimitedUnits final : public UnitSource {
 public:
  explicit LimitedUnits(Units limit) : limit_(limit) {}

  tl::expected<Units, LeaseRefusal> lease(Units least, Units most) override;
  void give_up(Units units) override;
  Units limit() const override;
  Units wanted() const override;

  /// A lower limit takes nothing away: it refuses until enough was given up, and wanted() asks for the difference.
  void set_limit(Units limit);
  Units leased() const;

 private:
  mutable RankedMutex mutex_{LockRank::units};
  Units limit_ CUPOOL_GUARDED_BY(mutex_);
  Units leased_ CUPOOL_GUARDED_BY(mutex_){};
};

/// One arena's account of units and handles. Not thread-safe: Arena holds LockRank::arena around every call.
///
/// Invariant: created + creating <= leased x handles per unit.
class UnitAccount {
 public:
  explicit UnitAccount(UnitShape shape) : shape_(shape) {}

  /// Handles that may be created inside what is leased.
  std::uint64_t spare() const { return capacity() - created_ - creating_; }
  Units leased() const { return leased_; }
  std::uint64_t created() const { return created_; }

  void add_lease(Units units) { leased_ += units; }
  /// Sets `handles` (at most spare()) aside before they are created.
  void begin_create(std::uint64_t handles) { creating_ += handles; }
  /// Of those set aside, `made` exist now; the rest is spare again.
  void end_create(std::uint64_t handles, std::uint64_t made) {
    creating_ -= handles;
    created_ += made;
  }
  void released(std::uint64_t handles) { created_ -= handles; }
  /// Takes the units that no handle needs any more out of the account; the caller gives them up to the source.
  Units take_surplus();

 private:
  std::uint64_t capacity() const { return leased_.count * shape_.handles_per_unit(); }

  UnitShape shape_;
  Units leased_{};
  std::uint64_t created_ = 0;
  std::uint64_t creating_ = 0;
};

}  // namespace cupool::pool
