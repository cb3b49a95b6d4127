// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cupool::report {

// The journal: what one process has counted, in a form that outlives it.
//
// A record is plain memory of fixed layout. Under `cupool run` it lies in a sealed memory file that the launcher owns, so that the
// launcher can write the report of a process that was killed; without a launcher it lies in the process's own memory. Every number
// that a running process changes is an atomic written with relaxed order: readers want each number to be whole, and get a set that
// may be a few operations apart. The texts of refusals alone are plain: one thread at a time writes them. Texts are written before
// `state` says `running`; an entry of a ring is written before its count is raised, and a reader of a live process drops the oldest
// entry, which may be in the middle of being replaced.
//
// Reader and writer are of the same version (kJournalVersion and the size are compared), so the layout may change freely.

inline constexpr std::uint64_t kJournalMagic = 0x314C4E524A505543;  // "CUPJRNL1"
inline constexpr std::uint32_t kJournalVersion = 1;

inline constexpr std::size_t kMaxProcesses = 256;  ///< per run; later ones are counted and reported as not recorded
inline constexpr std::size_t kMaxEntries = 320;    ///< governed and counted entry points
inline constexpr std::size_t kMaxDevices = 16;
inline constexpr std::size_t kLatencyBuckets = 32;  ///< bucket b: below 2^b ns, the last one is open
inline constexpr std::size_t kSizeBuckets = 48;     ///< bucket b: sizes in [2^b, 2^(b+1)) bytes, the last one is open
inline constexpr std::size_t kMaxSites = 192;
inline constexpr std::size_t kMaxFrames = 12;
inline constexpr std::size_t kMaxRefusals = 64;
inline constexpr std::size_t kMaxSamples = 256;
inline constexpr std::size_t kMaxEvents = 8192;
inline constexpr std::size_t kMaxWarnings = 32;

using Counter = std::atomic<std::uint64_t>;

/// A NUL-terminated text, cut to fit.
template <std::size_t N>
using Text = std::array<char, N>;

enum class State : std::uint32_t {
  free,      ///< nobody has claimed this record
  claimed,   ///< being filled: texts are not yet complete
  running,   ///< texts are complete, counters are live
  finished,  ///< the process reached its exit handler: the numbers are final
};

/// One entry point: how often it was called, how long it took, how often it failed.
struct EntryRecord {
  Text<48> name;
  Counter calls;
  Counter failures;
  Counter ticks;
  Counter longest_ticks;
  std::array<std::atomic<std::uint32_t>, kLatencyBuckets> latency;  ///< by time-stamp counter ticks, power-of-two buckets
};

/// A moment of one device's account, for the series over time.
struct Sample {
  Counter at_ns;  ///< since the process's start of record
  Counter live;
  Counter leased;
  Counter mapped;
  Counter fragmentation_permille;  ///< 1 - largest free run / free bytes
  Counter free_handles_permille;   ///< free handles / mapped handles
};

struct DeviceRecord {
  Text<48> uuid;
  Text<96> name;
  Counter total_bytes;  ///< of the physical device
  Counter limit_bytes;  ///< what the policy lets this job have here, rounded to units
  Counter guarantee_bytes;
  Counter unit_bytes;
  Counter handle_bytes;
  Counter governed;  ///< 1 when every allocation on it went through the policy
  Counter pooled;    ///< 1 when blocks came from the pool, 0 when the driver served them under the limit

  Counter live_bytes;
  Counter peak_live_bytes;
  Counter leased_bytes;
  Counter peak_leased_bytes;
  Counter mapped_bytes;
  Counter charged_bytes;     ///< beside the pool: what the policy charges of contexts, modules, managed memory, arrays
  Counter overhead_bytes;    ///< what the driver took on its own, measured
  Counter ungoverned_bytes;  ///< use of the device that nobody granted
  Counter allocated_bytes;   ///< sum over all allocations, as given
  Counter freed_bytes;
  Counter allocations;
  Counter frees;
  Counter waits;
  Counter wait_ns;
  Counter longest_wait_ns;
  Counter refusals;
  Counter refusals_retried;  ///< refused, and the same size was served later
  Counter handles_moved;
  Counter driver_calls;
  std::array<Counter, kSizeBuckets> asked;  ///< histogram of sizes asked for
  std::array<Counter, kSizeBuckets> given;  ///< histogram of sizes given

  Counter samples_taken;  ///< the ring below holds the last kMaxSamples of them
  std::array<Sample, kMaxSamples> samples;
};

/// Why one request was not served.
struct Refusal {
  std::uint64_t at_ns;
  std::uint64_t asked_bytes;
  std::uint64_t live_bytes;
  std::uint64_t limit_bytes;
  std::uint32_t device;
  std::uint32_t code;  ///< what the program was told: a CUresult
  Text<48> rule;       ///< the policy's rule, such as "/classes/standard/limit"
  Text<48> entry;      ///< the call that asked
  Text<128> reason;
};

struct Frame {
  std::uint64_t offset;  ///< inside the module's file; the address itself where no module is known
  Text<96> module;
  Text<96> function;  ///< nearest exported name, empty when unknown
};

/// Where memory was asked for: one distinct stack among the sampled allocations.
struct SiteRecord {
  Counter key;    ///< hash of the return addresses; 0 while unused
  Counter ready;  ///< 1 once the frames are complete
  Counter samples;
  Counter allocated_bytes;  ///< estimated: each sample stands for the bytes since the one before
  Counter live_bytes;
  std::uint32_t depth;
  std::array<Frame, kMaxFrames> frames;
};

enum class EventKind : std::uint32_t { none, allocate, free, refuse, wait, lease, give_up, move };

/// One event of the timeline; the ring keeps the last kMaxEvents.
struct Event {
  Counter at_ticks;  ///< since start_ticks
  Counter address;
  Counter bytes;
  Counter tag;  ///< of EventTag: one word, so that it is whole
};

/// What kind of event, on which device, from which call site (its index plus one, 0 when it was not sampled).
struct EventTag {
  EventKind kind = EventKind::none;
  std::uint16_t device = 0;
  std::uint16_t site = 0;

  std::uint64_t packed() const {
    return static_cast<std::uint64_t>(kind) | std::uint64_t{device} << 32 | std::uint64_t{site} << 48;
  }
  static EventTag of(std::uint64_t word) {
    return {static_cast<EventKind>(word & 0xffffffff), static_cast<std::uint16_t>(word >> 32 & 0xffff),
            static_cast<std::uint16_t>(word >> 48)};
  }
};

struct ProcessRecord {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t size;
  std::atomic<State> state;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t entry_count;
  std::atomic<std::uint32_t> device_count;
  std::atomic<std::uint32_t> flags;  ///< bits of Flag
  std::uint64_t start_realtime_ns;
  std::uint64_t start_monotonic_ns;
  std::uint64_t start_ticks;
  Counter end_monotonic_ns;
  Text<256> executable;
  Text<1024> arguments;  ///< separated by single NULs, ended by two
  Text<64> job;
  Text<64> job_class;
  Text<512> policy_source;  ///< file, or "built-in default"
  Text<160> policy_rule;    ///< which rule gave the class
  std::array<EntryRecord, kMaxEntries> entries;
  std::array<DeviceRecord, kMaxDevices> devices;
  std::atomic<std::uint32_t> refusal_writer;  ///< 1 while a thread of the process writes a refusal; readers pay no heed to it
  Counter refusal_count;
  std::array<Refusal, kMaxRefusals> refusals;  ///< ring
  Counter site_overflow;                       ///< samples whose stack found no free record
  Counter unwinder;                            ///< 0 not needed yet, 1 in use, 2 not available
  std::array<SiteRecord, kMaxSites> sites;
  Counter warning_count;
  std::array<Text<256>, kMaxWarnings> warnings;
  Counter event_count;
  std::array<Event, kMaxEvents> events;
};

/// Bits of ProcessRecord::flags.
enum Flag : std::uint32_t {
  kFlagCallSites = 1,     ///< the policy asks for call sites
  kFlagTimeline = 2,      ///< the policy asks for the timeline
  kFlagPerProcess = 4,    ///< the limit binds this process alone, not the job
  kFlagUngoverned = 8,    ///< allocations passed through without a policy
  kFlagForkedChild = 16,  ///< started as a fork of a recorded process
};

/// What stands at the start of a run's region.
struct RegionHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t record_size;
  Text<32> run;
  Counter turned_away;  ///< processes that found no free record
  /// Owner of each record: 0 when free, else the process number.
  std::array<std::atomic<std::uint32_t>, kMaxProcesses> owners;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<State>::is_always_lock_free,
              "the journal is shared between processes: its atomics may not hide a lock");

}  // namespace cupool::report
