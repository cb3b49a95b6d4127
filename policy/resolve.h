// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

/// What a policy amounts to on one device, in bytes and whole units: what `decide` and the pool work with.
namespace cupool::policy {

/// One pool: a GPU or a MIG instance.
struct DeviceFacts {
  std::string uuid;         ///< "GPU-..." or "MIG-..."
  std::uint32_t index = 0;  ///< as the monitor (nvidia-smi) counts; not CUDA's order in this process
  Bytes total;
};

struct MachineFacts {
  std::uint64_t physical_cores = 1;
};

struct PoolTerms {
  Bytes unit, handle, alignment;
  Units capacity;          ///< all that the pool may lease on this device
  Units static_zone;       ///< the part of it that guarantees come from
  Units critical_reserve;  ///< the part of the rest that only critical classes may borrow
  Bytes keep;              ///< free handles that stay mapped beyond the decaying high-water mark
  Heap heap = Heap::tlsf;
  FreeMode free = FreeMode::deferred;
  ChargeSet charge;
  bool operator==(const PoolTerms&) const = default;

  Units dynamic_zone() const { return capacity - static_zone; }
};

/// What each job of a class gets. guarantee <= limit <= capacity.
struct ClassTerms {
  std::string name;
  std::int64_t priority = 0;
  Units guarantee, limit;
  bool critical = false;
  Duration max_wait;
  OnFull on_full = OnFull::wait;
  std::optional<Duration> max_hold;
  OnRevoke on_revoke = OnRevoke::idle;
  std::uint64_t weight = 1;
  bool operator==(const ClassTerms&) const = default;
};

struct AdmissionTerms {
  std::uint64_t max_jobs = 1;
  OnFull on_full = OnFull::wait;
  Duration max_wait;
  bool operator==(const AdmissionTerms&) const = default;
};

/// The policy on one device. Jobs refer to classes by index.
struct Terms {
  PoolTerms pool;
  std::vector<ClassTerms> classes;
  std::size_t default_class = 0;
  AdmissionTerms admission;
  QueueRules queue;
  DefragRules defrag;
  TimeSlice time_slice;
  bool operator==(const Terms&) const = default;
};

/// What one job gets on this device: its class's terms, after its own entry and every layer. Starts as a copy of the class's;
/// `reserve` is the part of the guarantee that is set aside before the job asks.
struct JobTerms {
  std::size_t class_index = 0;
  ClassTerms rules;
  Units reserve;
  Serve serve = Serve::pool;
  bool operator==(const JobTerms&) const = default;
};

/// A policy that makes no sense on this device: where (a JSON pointer) and why, in words that end in a remedy.
struct Misfit {
  enum class Severity : std::uint8_t { error, warning };
  Severity severity = Severity::error;
  std::string pointer;
  std::string text;
};

struct Resolved {
  Terms terms;                  ///< of use only when no misfit is an error
  std::vector<Misfit> misfits;  ///< sums over the zone, a limit below one unit, a reserve above a limit...
  bool usable() const;
};

/// Pure; never fails on a validated policy otherwise than by misfits. Limits and guarantees are rounded down to whole units.
Resolved resolve(const Policy& policy, const DeviceFacts& device, const MachineFacts& machine);

/// The job's terms: class `class_index` of `terms`, and entry `job` of the policy when one matched. A reserve raises the
/// guarantee, an own limit lowers the limit (never the other way round).
JobTerms job_terms(const Terms& terms, std::size_t class_index, const JobRule* job);

/// The entry of `devices` that applies: the longest matching UUID prefix, else the index, else "*"; null when none does.
const DeviceRules* rules_for(const Policy& policy, const DeviceFacts& device);

/// Selectors that match none of the devices present (all of the machine's, not only those this process sees): each is an error,
/// because a limit meant for a device that does not exist (a typo, an exchanged card) must not become "no limit".
std::vector<Misfit> unknown_devices(const Policy& policy, const std::vector<DeviceFacts>& present);

}  // namespace cupool::policy
