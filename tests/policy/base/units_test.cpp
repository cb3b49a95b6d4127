// SPDX-License-Identifier: Apache-2.0
#include "policy/base/units.h"

#include <catch2/catch.hpp>

namespace cupool {

TEST_CASE("limits round down to whole units and demands round up", "[policy][base]") {
  CHECK(units_within(Bytes{kUnitStep.count * 3 - 1}, kUnitStep) == Units{2});
  CHECK(units_covering(Bytes{kUnitStep.count * 2 + 1}, kUnitStep) == Units{3});
  CHECK(units_covering(Bytes{0}, kUnitStep) == Units{0});
  CHECK(units_covering(Bytes{UINT64_MAX}, kUnitStep).count == (std::uint64_t{1} << 37));
}

TEST_CASE("sums and products that do not fit are refused", "[policy][base]") {
  CHECK(checked_add(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK_FALSE(checked_add(UINT64_MAX, 1).has_value());
  CHECK(checked_mul(UINT64_MAX, 1) == UINT64_MAX);
  CHECK_FALSE(checked_mul(UINT64_MAX / 2 + 1, 2).has_value());
  CHECK_FALSE(round_up(UINT64_MAX, 512).has_value());
  CHECK(round_up(513, 512) == 1024);
}

TEST_CASE("amounts are written exactly when they can be", "[policy][base]") {
  CHECK(to_text(Bytes{0}) == "0 B");
  CHECK(to_text(Bytes{1536}) == "1.50 KiB");
  CHECK(to_text(kUnitStep) == "128 MiB");
  CHECK(to_text(Bytes{139 * kGiB.count}) == "139 GiB");
  CHECK(to_text(Bytes{kGiB.count + 1}) == "1.00 GiB");
}

}  // namespace cupool
