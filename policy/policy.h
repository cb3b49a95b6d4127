// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/base/log.h"
#include "policy/keys.h"
#include "policy/value.h"

/// The decoded policy file, version 1: plain values, as written. `policy/keys.def` says what each key means, its range and its
/// default; the defaults here are the same (a test compares them). What it amounts to on one device: `policy/resolve.h`.
namespace cupool::policy {

// The enumerators stand in the order in which keys.def lists the words.
enum class Heap { tlsf, buddy };
enum class FreeMode { deferred, wait };
enum class OnFull { wait, deny };
/// What happens to a job whose borrowed units are called back: its live blocks move to host memory, or it gives only what is idle.
enum class OnRevoke { idle, park };
enum class Serve { pool, direct };
enum class QueueOrder { priority, arrival, earliest_deadline, latest_deadline };
enum class SliceMode { off, round_robin };
enum class FrameworkMode { segments, tensors };

/// Kinds of use beside the pool that are charged to the job.
enum class Charge : std::uint8_t { contexts, modules, managed, arrays };
struct ChargeSet {
  std::uint8_t bits = 0b1111;
  constexpr bool has(Charge kind) const { return (bits >> static_cast<unsigned>(kind) & 1U) != 0; }
  constexpr void add(Charge kind) { bits = static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(kind)); }
  constexpr bool operator==(const ChargeSet&) const = default;
};

struct PoolRules {
  Size unit = Size::bytes(kUnitStep);
  Size handle = Size::bytes(Bytes{8 * kMiB.count});
  Size capacity = Size::percent(95);          ///< of the device
  Size static_zone = Size::percent(60);       ///< of the capacity, like all below
  Size critical_reserve = Size::percent(12);  ///< inside the dynamic zone, for critical classes only
  Heap heap = Heap::tlsf;
  Size alignment = Size::bytes(Bytes{512});
  Size keep = Size::units(1);
  FreeMode free = FreeMode::deferred;
  ChargeSet charge;
  GivenKeys given;
  bool operator==(const PoolRules&) const = default;
};

struct ClassRules {
  std::string name;
  std::int64_t priority = 50;
  Size guarantee = Size::bytes(Bytes{0});  ///< of each job of the class
  Size limit = Size::infinity();           ///< of each job of the class
  bool critical = false;
  Duration max_wait{30 * kSecond.ns};
  OnFull on_full = OnFull::wait;
  std::optional<Duration> max_hold;  ///< of borrowed units; none: as long as nobody of higher rank asks
  OnRevoke on_revoke = OnRevoke::idle;
  std::uint64_t weight = 1;  ///< share among borrowers of equal priority
  GivenKeys given;
  bool operator==(const ClassRules&) const = default;
};

/// Patterns with `*` and `?`; a list is satisfied by any one of its patterns, an empty list by everything.
using Patterns = std::vector<std::string>;

/// All that are given must hold.
struct Match {
  Patterns command, user, group, cgroup, cwd;
  std::vector<std::pair<std::string, Patterns>> env;
  bool operator==(const Match&) const = default;
};

struct JobRule {
  Match match;
  std::string class_name;       ///< empty: the default class
  std::optional<Size> reserve;  ///< set aside for this job before it starts; raises its guarantee
  std::optional<Size> limit;    ///< lower than the class's
  Serve serve = Serve::pool;
  GivenKeys given;
  bool operator==(const JobRule&) const = default;
};

struct Admission {
  JobCount max_jobs{0, 1500};
  OnFull on_full = OnFull::wait;
  Duration max_wait{600 * kSecond.ns};
  bool operator==(const Admission&) const = default;
};

struct QueueRules {
  QueueOrder order = QueueOrder::priority;
  std::uint64_t aging = 4;   ///< a waiter rises one class step each time it was passed over this often; 0: never
  std::uint64_t bypass = 8;  ///< how often the first waiter may be passed over by smaller requests
  bool operator==(const QueueRules&) const = default;
};

struct DefragRules {
  Share above{500'000};  ///< free handles in mapped memory
  Duration every{4 * 3600 * kSecond.ns};
  bool on_pressure = true;
  std::uint64_t max_calls = 256;  ///< driver calls in one pass
  Share cpu_budget{20'000};       ///< of one core
  bool operator==(const DefragRules&) const = default;
};

struct TimeSlice {
  SliceMode mode = SliceMode::off;
  Duration quantum{30 * kSecond.ns};
  bool only_when_full = true;
  bool operator==(const TimeSlice&) const = default;
};

struct FrameworkRules {
  FrameworkMode pytorch = FrameworkMode::segments;
  FrameworkMode jax = FrameworkMode::segments;
  FrameworkMode tensorflow = FrameworkMode::segments;
  bool operator==(const FrameworkRules&) const = default;
};

/// What differs on some devices. `selector` is a UUID prefix ("GPU-5d1e", "MIG-"), an index ("0") or "*".
struct DeviceRules {
  std::string selector;
  std::optional<Size> capacity, static_zone, critical_reserve, keep;
  bool operator==(const DeviceRules&) const = default;
};

struct ReportRules {
  std::string path = "%s/cupool/%c.%r.json";
  bool call_sites = true;
  bool timeline = true;
  double gpu_hour_price = 0;  ///< 0: no cost figures
  bool operator==(const ReportRules&) const = default;
};

struct LogRules {
  log::Level level = log::Level::warning;
  std::uint64_t denials = 5;  ///< how many refusals of a process are described on stderr
  bool operator==(const LogRules&) const = default;
};

struct Policy {
  std::string schema;  ///< for editors only
  std::uint64_t version = 1;
  PoolRules pool;
  std::vector<ClassRules> classes;  ///< in the order of the file; never empty in a validated policy
  std::string default_class;
  std::vector<JobRule> jobs;  ///< the first that matches applies
  Admission admission;
  QueueRules queue;
  DefragRules defrag;
  TimeSlice time_slice;
  FrameworkRules frameworks;
  std::vector<DeviceRules> devices;
  ReportRules report;
  LogRules log;
  GivenKeys given;
  bool operator==(const Policy&) const = default;
};

/// The index of the class of that name.
std::optional<std::size_t> class_index(const Policy& policy, std::string_view name);

/// What applies where no policy file exists: one class, no guarantee, the whole pool as its limit, waits of 30 s.
Policy built_in();

}  // namespace cupool::policy
