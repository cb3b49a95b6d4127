// SPDX-License-Identifier: Apache-2.0
#include "shim/report/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "shim/report/call_site.h"

namespace cupool::report {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

template <std::size_t N>
void set_text(Text<N>& target, std::string_view text) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(target.data(), text.data(), length);
  target[length] = '\0';
}

void raise_to(Counter& peak, std::uint64_t value) {
  std::uint64_t seen = peak.load(kRelaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, kRelaxed)) {
  }
}

/// Subtracts, but never below zero: a free that was never counted must not turn into an enormous number.
std::uint64_t lower_by(Counter& counter, std::uint64_t amount) {
  std::uint64_t seen = counter.load(kRelaxed);
  while (!counter.compare_exchange_weak(seen, seen - std::min(seen, amount), kRelaxed)) {
  }
  return seen - std::min(seen, amount);
}

std::size_t log2_bucket(std::uint64_t value, std::size_t buckets) {
  return value == 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(value)) - 1, buckets - 1);
}

void read_file(const char* path, char* target, std::size_t capacity) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::size_t filled = 0;
  while (filled + 2 < capacity) {
    const ssize_t got = read(file, target + filled, capacity - 2 - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  close(file);
}

}  // namespace

void Recorder::begin(ProcessRecord* record, const ProcessFacts& facts) {
  record->state.store(State::claimed, kRelaxed);
  record->magic = kJournalMagic;
  record->version = kJournalVersion;
  record->size = sizeof(ProcessRecord);
  record->pid = static_cast<std::uint32_t>(getpid());
  record->parent_pid = static_cast<std::uint32_t>(getppid());
  record->start_realtime_ns = realtime_ns();
  record->start_monotonic_ns = monotonic_ns();
  record->start_ticks = ticks();
  const ssize_t length = readlink("/proc/self/exe", record->executable.data(), record->executable.size() - 1);
  if (length < 0) set_text(record->executable, "?");
  read_file("/proc/self/cmdline", record->arguments.data(), record->arguments.size());
  set_text(record->job, facts.job);
  set_text(record->job_class, facts.job_class);
  set_text(record->policy_source, facts.policy_source);
  set_text(record->policy_rule, facts.policy_rule);
  record->flags.store(facts.flags, kRelaxed);
  bytes_until_sample_.store(0, kRelaxed);
  // Release: whoever sees the record running sees its texts.
  record->state.store(State::running, std::memory_order_release);
  record_.store(record, std::memory_order_release);
}

void Recorder::name_entry(std::uint32_t entry, std::string_view name) {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if (record == nullptr || entry >= kMaxEntries) return;
  set_text(record->entries[entry].name, name);
  record->entry_count = std::max(record->entry_count, entry + 1);
}

void Recorder::called(std::uint32_t entry, std::uint64_t start_ticks, bool succeeded) {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if (record == nullptr || entry >= kMaxEntries) return;
  const std::uint64_t took = ticks() - start_ticks;
  EntryRecord& row = record->entries[entry];
  row.calls.fetch_add(1, kRelaxed);
  row.ticks.fetch_add(took, kRelaxed);
  if (!succeeded) row.failures.fetch_add(1, kRelaxed);
  if (took > row.longest_ticks.load(kRelaxed)) raise_to(row.longest_ticks, took);
  row.latency[log2_bucket(took, kLatencyBuckets)].fetch_add(1, kRelaxed);
}

DeviceRecord* Recorder::device_at(std::uint32_t device) const {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  return record == nullptr || device >= kMaxDevices ? nullptr : &record->devices[device];
}

void Recorder::add_device(std::uint32_t device, const DeviceFacts& facts) {
  DeviceRecord* row = device_at(device);
  if (row == nullptr) return;
  set_text(row->uuid, facts.uuid);
  set_text(row->name, facts.name);
  row->total_bytes.store(facts.total.count, kRelaxed);
  row->limit_bytes.store(facts.limit.count, kRelaxed);
  row->guarantee_bytes.store(facts.guarantee.count, kRelaxed);
  row->unit_bytes.store(facts.unit.count, kRelaxed);
  row->handle_bytes.store(facts.handle.count, kRelaxed);
  row->governed.store(facts.governed ? 1 : 0, kRelaxed);
  row->pooled.store(facts.pooled ? 1 : 0, kRelaxed);
  std::atomic<std::uint32_t>& count = record_.load(std::memory_order_acquire)->device_count;
  std::uint32_t seen = count.load(kRelaxed);
  // Release: a reader that counts this device sees its texts.
  while (seen <= device && !count.compare_exchange_weak(seen, device + 1, std::memory_order_release)) {
  }
}

void Recorder::allocated(std::uint32_t device, std::uint64_t address, Bytes asked, Bytes given, SiteNumber site) {
  DeviceRecord* row = device_at(device);
  if (row == nullptr) return;
  row->allocations.fetch_add(1, kRelaxed);
  row->allocated_bytes.fetch_add(given.count, kRelaxed);
  const std::uint64_t live = row->live_bytes.fetch_add(given.count, kRelaxed) + given.count;
  if (live > row->peak_live_bytes.load(kRelaxed)) raise_to(row->peak_live_bytes, live);
  row->asked[log2_bucket(asked.count, kSizeBuckets)].fetch_add(1, kRelaxed);
  row->given[log2_bucket(given.count, kSizeBuckets)].fetch_add(1, kRelaxed);
  if (last_refused_bytes_.load(kRelaxed) != 0 && last_refused_bytes_.exchange(0, kRelaxed) == asked.count) {
    row->refusals_retried.fetch_add(1, kRelaxed);
  }
  if (site != 0) record_.load(std::memory_order_acquire)->sites[site - 1].live_bytes.fetch_add(asked.count, kRelaxed);
  add_event(EventKind::allocate, device, address, given, site);
}

void Recorder::freed(std::uint32_t device, std::uint64_t address, Bytes asked, Bytes given, SiteNumber site) {
  DeviceRecord* row = device_at(device);
  if (row == nullptr) return;
  row->frees.fetch_add(1, kRelaxed);
  row->freed_bytes.fetch_add(given.count, kRelaxed);
  lower_by(row->live_bytes, given.count);
  if (site != 0) lower_by(record_.load(std::memory_order_acquire)->sites[site - 1].live_bytes, asked.count);
  add_event(EventKind::free, device, address, given, site);
}

void Recorder::account(std::uint32_t device, const DeviceAccount& account) {
  DeviceRecord* row = device_at(device);
  if (row == nullptr) return;
  row->leased_bytes.store(account.leased.count, kRelaxed);
  raise_to(row->peak_leased_bytes, account.leased.count);
  row->mapped_bytes.store(account.mapped.count, kRelaxed);
  row->charged_bytes.store(account.charged.count, kRelaxed);
  row->overhead_bytes.store(account.overhead.count, kRelaxed);
  row->ungoverned_bytes.store(account.ungoverned.count, kRelaxed);
  Sample& sample = row->samples[row->samples_taken.fetch_add(1, kRelaxed) % kMaxSamples];
  sample.at_ns.store(monotonic_ns() - record()->start_monotonic_ns, kRelaxed);
  sample.live.store(row->live_bytes.load(kRelaxed), kRelaxed);
  sample.leased.store(account.leased.count, kRelaxed);
  sample.mapped.store(account.mapped.count, kRelaxed);
  sample.fragmentation_permille.store(account.fragmentation_permille, kRelaxed);
  sample.free_handles_permille.store(account.free_handles_permille, kRelaxed);
}

void Recorder::waited(std::uint32_t device, std::uint64_t ns) {
  DeviceRecord* row = device_at(device);
  if (row == nullptr) return;
  row->waits.fetch_add(1, kRelaxed);
  row->wait_ns.fetch_add(ns, kRelaxed);
  raise_to(row->longest_wait_ns, ns);
}

void Recorder::refused(const RefusalFacts& facts) {
  DeviceRecord* row = device_at(facts.device);
  if (row == nullptr) return;
  row->refusals.fetch_add(1, kRelaxed);
  last_refused_bytes_.store(facts.asked.count, kRelaxed);
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  // Refusals are rare and short to write; nothing that could wait happens while the turn is held.
  while (record->refusal_writer.exchange(1, std::memory_order_acquire) != 0) {
  }
  const std::uint64_t number = record->refusal_count.load(kRelaxed);
  Refusal& entry = record->refusals[number % kMaxRefusals];
  entry.at_ns = monotonic_ns() - record->start_monotonic_ns;
  entry.asked_bytes = facts.asked.count;
  entry.live_bytes = row->live_bytes.load(kRelaxed);
  entry.limit_bytes = row->limit_bytes.load(kRelaxed);
  entry.device = facts.device;
  entry.code = facts.code;
  set_text(entry.rule, facts.rule);
  set_text(entry.entry, facts.entry);
  set_text(entry.reason, facts.reason);
  record->refusal_count.store(number + 1, kRelaxed);
  record->refusal_writer.store(0, std::memory_order_release);
  add_event(EventKind::refuse, facts.device, 0, facts.asked, 0);
}

void Recorder::moved_handles(std::uint32_t device, std::uint64_t count) {
  if (DeviceRecord* row = device_at(device)) row->handles_moved.fetch_add(count, kRelaxed);
}

void Recorder::driver_called(std::uint32_t device, std::uint64_t count) {
  if (DeviceRecord* row = device_at(device)) row->driver_calls.fetch_add(count, kRelaxed);
}

void Recorder::warn(std::string_view text) {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if (record == nullptr) return;
  const std::uint64_t number = record->warning_count.fetch_add(1, kRelaxed);
  if (number < kMaxWarnings) set_text(record->warnings[number], text);
}

void Recorder::add_event(EventKind kind, std::uint32_t device, std::uint64_t address, Bytes bytes, SiteNumber site) {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if ((record->flags.load(kRelaxed) & kFlagTimeline) == 0) return;
  const std::uint64_t number = record->event_count.fetch_add(1, kRelaxed);
  // Ticks, not nanoseconds: the report converts. A clock_gettime here would double the cost of counting.
  Event& event = record->events[number % kMaxEvents];
  event.at_ticks.store(ticks() - record->start_ticks, kRelaxed);
  event.address.store(address, kRelaxed);
  event.bytes.store(bytes.count, kRelaxed);
  event.tag.store(EventTag{kind, static_cast<std::uint16_t>(device), site}.packed(), kRelaxed);
}

SiteNumber Recorder::sample_site(Bytes asked, int skip) {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if (record == nullptr || (record->flags.load(kRelaxed) & kFlagCallSites) == 0) return 0;
  const std::uint64_t interval = sample_interval();
  std::uint64_t left = bytes_until_sample_.load(kRelaxed);
  std::uint64_t next;
  do {
    next = left > asked.count ? left - asked.count : interval;
  } while (!bytes_until_sample_.compare_exchange_weak(left, next, kRelaxed));
  if (left > asked.count) return 0;
  samples_.fetch_add(1, kRelaxed);
  // The sample stands for what was asked since the last one: at least this request, at most the interval before it as well.
  return note_call_site(*record, std::max(asked.count, interval), skip + 1);
}

std::uint64_t Recorder::sample_interval() const {
  // Unwinding takes microseconds: a program that allocates for hours must not pay for it by the byte. The first samples come early,
  // then ever more rarely; their weight grows alike.
  const std::uint64_t doublings = std::min<std::uint64_t>(samples_.load(kRelaxed) / kSamplesPerInterval, 30);
  return kSampleBytes << doublings;
}

void Recorder::finish() {
  ProcessRecord* record = record_.load(std::memory_order_acquire);
  if (record == nullptr) return;
  record->end_monotonic_ns.store(monotonic_ns(), kRelaxed);
  record->state.store(State::finished, std::memory_order_release);
}

}  // namespace cupool::report
