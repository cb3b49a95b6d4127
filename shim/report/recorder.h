// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "policy/base/units.h"
#include "shim/report/clock.h"
#include "shim/report/journal.h"

namespace cupool::report {

/// What the process says of itself when its record begins.
struct ProcessFacts {
  std::string_view job;
  std::string_view job_class;
  std::string_view policy_source;
  std::string_view policy_rule;
  std::uint32_t flags = 0;
};

struct DeviceFacts {
  std::string_view uuid;
  std::string_view name;
  Bytes total, limit, guarantee, unit, handle;
  bool governed = false;
  bool pooled = false;
};

/// The parts of a device's account that only the pool knows; set as a whole whenever they change.
struct DeviceAccount {
  Bytes leased, mapped, charged, overhead, ungoverned;
  std::uint32_t fragmentation_permille = 0;
  std::uint32_t free_handles_permille = 0;
};

struct RefusalFacts {
  std::uint32_t device = 0;
  std::uint32_t code = 0;
  Bytes asked;
  std::string_view rule, entry, reason;
};

/// Index of a call site plus one; 0 where the allocation was not sampled.
using SiteNumber = std::uint16_t;

/// Counts what the hooks do, in a journal record. All calls are thread-safe, allocate nothing and take no lock; the counting calls
/// are a few relaxed atomic additions (about 25 ns for an allocation here).
///
/// Works on the record given to begin(); before that every call counts into nothing. Constant-initialised and never destroyed:
/// hooks may call it before constructors and after exit has begun.
class Recorder {
 public:
  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Fills the record with the process's identity and publishes it. Once per process (and once more in a forked child, with a
  /// record of its own).
  void begin(ProcessRecord* record, const ProcessFacts& facts);
  bool has_begun() const { return record_.load(std::memory_order_acquire) != nullptr; }

  /// Names an entry point. Call for all of them before begin() is used by other threads; indices at or above kMaxEntries are
  /// ignored.
  void name_entry(std::uint32_t entry, std::string_view name);
  /// One finished call that began at `start_ticks`.
  void called(std::uint32_t entry, std::uint64_t start_ticks, bool succeeded);
  /// One call of which only the number is wanted: a single addition, for launches and copies.
  void counted(std::uint32_t entry) {
    ProcessRecord* record = record_.load(std::memory_order_acquire);
    if (record != nullptr && entry < kMaxEntries) record->entries[entry].calls.fetch_add(1, std::memory_order_relaxed);
  }

  /// Announces a device; devices are numbered by the caller from 0, numbers at or above kMaxDevices are ignored.
  void add_device(std::uint32_t device, const DeviceFacts& facts);
  void allocated(std::uint32_t device, std::uint64_t address, Bytes asked, Bytes given, SiteNumber site);
  void freed(std::uint32_t device, std::uint64_t address, Bytes asked, Bytes given, SiteNumber site);
  /// Call when units, handles or charges change: not on the hot path. Also takes a sample for the series over time.
  void account(std::uint32_t device, const DeviceAccount& account);
  void waited(std::uint32_t device, std::uint64_t ns);
  void refused(const RefusalFacts& facts);
  void moved_handles(std::uint32_t device, std::uint64_t count);
  void driver_called(std::uint32_t device, std::uint64_t count);
  void warn(std::string_view text);

  /// The call site of an allocation that is about to be counted, if it falls on a sample; 0 otherwise. Unwinds the stack at most
  /// once in kSampleBytes of allocation. `skip` is the number of innermost frames that belong to cupool.
  SiteNumber sample_site(Bytes asked, int skip);

  /// Counts into nothing from now on: the record belongs to the parent of this process.
  void leave() { record_.store(nullptr, std::memory_order_release); }

  /// Marks the record final. The last call of an orderly end.
  void finish();

  const ProcessRecord* record() const { return record_.load(std::memory_order_acquire); }

  static constexpr std::uint64_t kSampleBytes = 1 << 20;
  static constexpr std::uint64_t kSamplesPerInterval = 128;

 private:
  std::uint64_t sample_interval() const;
  DeviceRecord* device_at(std::uint32_t device) const;
  void add_event(EventKind kind, std::uint32_t device, std::uint64_t address, Bytes bytes, SiteNumber site);

  std::atomic<ProcessRecord*> record_{nullptr};
  std::atomic<std::uint64_t> bytes_until_sample_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> last_refused_bytes_{0};
};

}  // namespace cupool::report
