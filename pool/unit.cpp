// SPDX-License-Identifier: Apache-2.0
#include "pool/unit.h"

#include <algorithm>

namespace cupool::pool {

tl::expected<Units, LeaseRefusal> LimitedUnits::lease(Units least, Units most) {
  RankedLock lock(mutex_);
  const Units free = limit_ > leased_ ? limit_ - leased_ : Units{0};
  const Units granted = std::min(free, most);
  if (granted < least) return tl::unexpected(LeaseRefusal{Errc::over_limit, Rule::job_limit});
  leased_ += granted;
  return granted;
}

void LimitedUnits::give_up(Units units) {
  RankedLock lock(mutex_);
  leased_ -= units;
}

Units LimitedUnits::limit() const {
  RankedLock lock(mutex_);
  return limit_;
}

Units LimitedUnits::wanted() const {
  RankedLock lock(mutex_);
  return leased_ > limit_ ? leased_ - limit_ : Units{0};
}

void LimitedUnits::set_limit(Units limit) {
  RankedLock lock(mutex_);
  limit_ = limit;
}

Units LimitedUnits::leased() const {
  RankedLock lock(mutex_);
  return leased_;
}

Units UnitAccount::take_surplus() {
  const Units needed = shape_.units_for_handles(created_ + creating_);
  const Units surplus = leased_ > needed ? leased_ - needed : Units{0};
  leased_ -= surplus;
  return surplus;
}

}  // namespace cupool::pool
