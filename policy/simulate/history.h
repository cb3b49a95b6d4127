// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/decide/verdict.h"

/// What happened in a simulation.
namespace cupool::policy {

enum class EventKind : std::uint8_t {
  arrived,
  admission_waits,
  admitted,
  turned_away,  ///< not admitted: verdict
  asked,        ///< units
  waits,        ///< verdict: rank, until, for what
  granted,      ///< units, verdict
  denied,       ///< verdict
  freed,        ///< units
  idle,         ///< units that it keeps without using them
  called_back,  ///< units that it is to give back; `other` for whom
  gave_back,    ///< idle units, at no cost to the job
  parked,       ///< units moved to host memory; the job stands still
  resumed,      ///< units back in their place; the job goes on
  ended,
  died,         ///< units that drain
  drained,      ///< units
  foreign_use,  ///< units now held by others; no job
};
const char* to_text(EventKind kind);

inline constexpr std::uint32_t kNobody = UINT32_MAX;

struct Event {
  Instant at;
  EventKind kind = EventKind::arrived;
  std::uint32_t job = kNobody;  ///< index into the plan's jobs
  Units units;
  std::uint32_t other = kNobody;
  std::optional<Verdict> verdict;
};

/// A job's state from `at` until its next sample.
struct Sample {
  enum class State : std::uint8_t { absent, arriving, runs, waits, parked };
  Instant at;
  State state = State::absent;
  Units held, parked, idle;
  bool operator==(const Sample& other) const {
    return state == other.state && held == other.held && parked == other.parked && idle == other.idle;
  }
};
const char* to_text(Sample::State state);

enum class Fate : std::uint8_t { unfinished, finished, died, gave_up, turned_away };
const char* to_text(Fate fate);

struct JobHistory {
  std::vector<Sample> samples;
  Fate fate = Fate::unfinished;  ///< gave_up: it ended because memory was denied
  Instant arrived, ended = kNever;
  std::optional<Instant> admitted;
  std::uint64_t asks = 0, grants = 0, denials = 0, waits = 0;
  Duration waited, longest_wait, parked_for;
  Units peak, called_back;
  std::optional<Rule> last_denial;
};

struct History {
  std::vector<Event> events;
  std::vector<JobHistory> jobs;  ///< one for each of the plan's
  Instant end;                   ///< when the last thing happened, or the plan's end
  bool cut_short = false;        ///< one of the bounds below was reached
};

/// Bounds on a simulation, so that no plan takes longer than some ten seconds.
inline constexpr std::size_t kMostEvents = 200'000;
inline constexpr std::uint64_t kMostJudgements = 2'000'000;

}  // namespace cupool::policy
