// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/decide/account.h"
#include "policy/resolve.h"

/// What is simulated: one pool and the scripts of the jobs that come to it. Amounts are whole units of the pool.
namespace cupool::policy {

/// What a job does when it is refused memory. A program usually ends.
enum class OnDenied : std::uint8_t { end, die, go_on };

struct Step {
  enum class Kind : std::uint8_t {
    ask,   ///< wants `units` more: idle ones of its own first, the rest from the pool; goes on when it has them
    free,  ///< gives `units` back (all of them with `all`)
    idle,  ///< keeps `units` but does not use them, as a framework's cache does
    work,  ///< goes on after `span` of undisturbed work; stands still while it is parked
    die,   ///< is killed: its units drain
  };
  Kind kind = Kind::work;
  Units units;
  bool all = false;
  Duration span;
  std::optional<Duration> deadline;  ///< (ask) gives up after this long, if its class does not sooner
  Patience patience = Patience::may_wait;
  OnDenied on_denied = OnDenied::end;
};

struct PlannedJob {
  std::string name;
  JobTerms terms;
  Instant arrives;
  std::vector<Step> steps;  ///< after the last it ends in good order and all of its units are free at once
  std::uint64_t repeat = 1;
};

/// From `at` on, programs that cupool does not govern hold `units`.
struct ForeignUse {
  Instant at;
  Units units;
};

struct Plan {
  Terms terms;
  std::vector<PlannedJob> jobs;
  std::vector<ForeignUse> foreign;
  Duration give_back{kSecond.ns / 10};  ///< how long a job takes to give back what is called back
  Duration drain{kSecond.ns / 2};       ///< how long units of a killed job stay charged
  Instant end = kNever;
};

}  // namespace cupool::policy
