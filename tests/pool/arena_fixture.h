// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pool/arena.h"
#include "tests/support/fake_backing.h"
#include "tests/support/fake_completions.h"

namespace cupool::pool::fakes {

inline constexpr Bytes kTestHandle{8 * kMiB.count};
inline constexpr Bytes kTestUnit{32 * kMiB.count};

/// An arena over fakes: handles of 8 MiB, units of four, a limit in units. Small numbers, so that tests are read at a glance.
struct ArenaFixture {
  explicit ArenaFixture(std::uint64_t limit_units, bool slabs = false) : units(Units{limit_units}) {
    config.shape = UnitShape{kTestUnit, kTestHandle};
    config.range = Bytes{kTestUnit.count * std::max<std::uint64_t>(64, limit_units * 8)};
    config.keep = Units{0};
    config.slabs = slabs;
    arena = Arena::create(config, failing, units, &completions).value();
  }

  Granted<Block> take(Bytes size) { return arena->take(Request{DeviceId{0}, size, {}, {}, {}}); }
  Block must_take(Bytes size) { return take(size).value(); }
  static Bytes mib(std::uint64_t count) { return Bytes{count << 20}; }

  ArenaConfig config;
  CountingBacking backing;
  FailingBacking failing{backing};
  LimitedUnits units;
  FakeCompletions completions;
  std::unique_ptr<Arena> arena;
};

}  // namespace cupool::pool::fakes
