// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <algorithm>
#include <new>

namespace cupool::pool {

/// What is known of one device. Lives as long as the Pool.
struct Pool::Device {
  Device(DeviceId id_in, const DeviceSettings& settings_in, const DeviceParts& parts_in)
      : id(id_in), settings(settings_in), parts(parts_in), beside(settings_in.arena.shape, parts_in.units) {
    settings.arena.device = id;
  }
  ~Device() { delete arena.load(); }

  const DeviceId id;
  DeviceSettings settings;
  const DeviceParts parts;
  BesideAccount beside;
  /// Null before the first allocation and after a reset. Released when published: whoever acquires it sees a complete arena.
  std::atomic<Arena*> arena{nullptr};
  /// Arenas that were dropped. Another thread may still be inside one, so they stay until the end.
  RankedMutex mutex{LockRank::pool};
  std::vector<std::unique_ptr<Arena>> retired CUPOOL_GUARDED_BY(mutex);
  std::atomic<std::uint64_t> period_end_ms{0};
};

namespace {

Refusal bad_device(Bytes asked) {
  Refusal refusal;
  refusal.code = Errc::invalid_argument;
  refusal.rule = Rule::bad_request;
  refusal.asked = asked;
  return refusal;
}

constexpr Error kUnknownDevice{Errc::not_found, "the pool does not know this device"};

}  // namespace

Pool::~Pool() {
  for (auto& device : devices_) delete device.load();
}

Pool::Device* Pool::device_at(DeviceId device) const {
  return device.index < kMaxDevices ? devices_[device.index].load(std::memory_order_acquire) : nullptr;
}

Arena* Pool::arena_of(DeviceId device) const {
  const Device* known = device_at(device);
  return known == nullptr ? nullptr : known->arena.load(std::memory_order_acquire);
}

Pool::Device* Pool::owner_of(Address address) const {
  const std::uint32_t end = end_of_devices_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < end; ++i) {
    Device* device = devices_[i].load(std::memory_order_acquire);
    const Arena* arena = device == nullptr ? nullptr : device->arena.load(std::memory_order_acquire);
    if (arena != nullptr && arena->contains(address)) return device;
  }
  return nullptr;
}

Result<Done> Pool::add_device(DeviceId id, const DeviceSettings& settings, const DeviceParts& parts) {
  if (id.index >= kMaxDevices) return fail(Errc::invalid_argument, "more devices than a pool can hold");
  if (const auto good = check(settings.arena); !good) return good;
  if (!is_power_of_two(settings.view_step.count)) return fail(Errc::invalid_argument, "the view step is not a power of two");
  std::unique_ptr<Device> made(new (std::nothrow) Device(id, settings, parts));
  if (!made) return fail(Errc::no_memory, "the host has no memory for a device");
  RankedLock lock(mutex_);
  if (devices_[id.index].load(std::memory_order_relaxed) != nullptr) return fail(Errc::exists, "the device is known already");
  devices_[id.index].store(made.release(), std::memory_order_release);
  end_of_devices_.store(std::max(end_of_devices_.load(std::memory_order_relaxed), id.index + 1), std::memory_order_release);
  return Done{};
}

// The device's arena, made if need be; null with the reason when it cannot be made.
Arena* Pool::arena_for(Device& device, Refusal& refusal) {
  if (Arena* arena = device.arena.load(std::memory_order_acquire)) return arena;
  auto made = Arena::create(device.settings.arena, device.parts.backing, device.parts.units, device.parts.completions);
  if (!made) {
    refusal.code = made.error().code;
    refusal.rule = made.error().code == Errc::no_space ? Rule::address_space : Rule::driver;
    return nullptr;
  }
  Arena* expected = nullptr;
  if (device.arena.compare_exchange_strong(expected, made->get(), std::memory_order_acq_rel)) return made->release();
  // Another thread was faster: its arena serves both.
  static_cast<void>((*made)->close());
  return expected;
}

Granted<Block> Pool::allocate(const Request& request) {
  Device* device = device_at(request.device);
  Refusal refusal = bad_device(request.size);
  if (device == nullptr) return tl::unexpected(refusal);
  Arena* arena = arena_for(*device, refusal);
  if (arena == nullptr) return tl::unexpected(refusal);
  Granted<Block> block = arena->take(request);
  if (!block) {
    block.error().beside = device->beside.total();
    return block;
  }
  if (TraceRecorder* recorder = recorder_.load(std::memory_order_acquire)) {
    const Clock clock = clock_.load(std::memory_order_relaxed);
    const StreamId stream = request.ordered.empty() ? StreamId{} : request.ordered.front().stream;
    recorder->allocate(static_cast<std::uint64_t>(block->identity), request.size, stream, clock == nullptr ? 0 : clock());
  }
  return block;
}

Result<Freed> Pool::free(Address base, FreeAfter after) {
  Device* device = owner_of(base);
  Arena* arena = device == nullptr ? nullptr : device->arena.load(std::memory_order_acquire);
  if (arena == nullptr) return fail(Errc::not_taken, "not a block of the pool");
  Result<Freed> freed = arena->give_back(base, after);
  if (TraceRecorder* recorder = freed ? recorder_.load(std::memory_order_acquire) : nullptr) {
    const Clock clock = clock_.load(std::memory_order_relaxed);
    recorder->free(static_cast<std::uint64_t>(freed->block.identity), after.stream, clock == nullptr ? 0 : clock());
  }
  return freed;
}

std::optional<Found> Pool::query(Address address) const {
  if (const Device* device = owner_of(address)) {
    const Arena* arena = device->arena.load(std::memory_order_acquire);
    const auto block = arena == nullptr ? std::nullopt : arena->find(address);
    if (block) return Found{*block, std::nullopt};
    return std::nullopt;
  }
  if (adopted_count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  RankedLock lock(mutex_);
  const AddressMap::Record* record = adopted_.find(address);
  if (record == nullptr) return std::nullopt;
  return Found{record->block, static_cast<BesideKind>(record->mark)};
}

Result<DeviceView> Pool::view(DeviceId id) const {
  const Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(kUnknownDevice);
  const Bytes limit = device->settings.arena.shape.unit * device->parts.units.limit().count;
  const Arena* arena = device->arena.load(std::memory_order_acquire);
  const Bytes live = arena == nullptr ? Bytes{0} : arena->live();
  const Bytes use = Bytes{*round_up(live.count, device->settings.view_step.count)} + device->beside.total();
  const Bytes total = std::min(limit, device->settings.total);
  return DeviceView{total, total > use ? total - use : Bytes{0}};
}

Granted<Done> Pool::charge(DeviceId id, BesideKind kind, Bytes bytes) {
  Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(bad_device(bytes));
  auto charged = device->beside.charge(kind, bytes);
  if (charged) return Done{};
  // Free handles of the arena may hold the units that are lacking.
  Arena* arena = device->arena.load(std::memory_order_acquire);
  if (arena != nullptr && arena->give_back_units(charged.error().units).count != 0) charged = device->beside.charge(kind, bytes);
  if (charged) return Done{};
  device->beside.count_refusal(kind);
  Refusal refusal;
  refusal.code = charged.error().refusal.code;
  refusal.rule = charged.error().refusal.rule;
  refusal.asked = bytes;
  refusal.limit = device->settings.arena.shape.unit * device->parts.units.limit().count;
  refusal.live = arena == nullptr ? Bytes{0} : arena->live();
  refusal.beside = device->beside.total();
  return tl::unexpected(refusal);
}

Result<Done> Pool::charge_anyway(DeviceId id, BesideKind kind, Bytes bytes) {
  Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(kUnknownDevice);
  device->beside.charge_anyway(kind, bytes);
  return Done{};
}

Result<Done> Pool::credit(DeviceId id, BesideKind kind, Bytes bytes) {
  Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(kUnknownDevice);
  device->beside.credit(kind, bytes);
  return Done{};
}

Result<Block> Pool::adopt(DeviceId id, BesideKind kind, Address base, Bytes size, Bytes given, CallSite call_site) {
  if (device_at(id) == nullptr) return tl::unexpected(kUnknownDevice);
  if (given < size) return fail(Errc::invalid_argument, "a block that occupies less than was asked for");
  RankedLock lock(mutex_);
  const Block block{base, size, given, BlockIdentity{adopted_identities_.next()}, id, call_site};
  const auto known = adopted_.insert(AddressMap::Record{block, static_cast<std::uint32_t>(kind)});
  if (!known) return tl::unexpected(known.error());
  adopted_count_.store(adopted_.size(), std::memory_order_release);
  return block;
}

Result<Block> Pool::disown(Address base) {
  RankedLock lock(mutex_);
  const auto record = adopted_.erase(base);
  if (!record) return tl::unexpected(record.error());
  adopted_count_.store(adopted_.size(), std::memory_order_release);
  lock.unlock();
  static_cast<void>(credit(record->block.device, static_cast<BesideKind>(record->mark), record->block.given));
  return record->block;
}

Result<std::vector<HeldHandle>> Pool::hold(Address base) {
  Device* device = owner_of(base);
  Arena* arena = device == nullptr ? nullptr : device->arena.load(std::memory_order_acquire);
  if (arena == nullptr) return fail(Errc::not_found, "not a block of the pool");
  return arena->hold(base);
}

Result<Done> Pool::let_go(const HeldHandle& held) {
  Device* device = owner_of(held.at);
  Arena* arena = device == nullptr ? nullptr : device->arena.load(std::memory_order_acquire);
  if (arena == nullptr) return fail(Errc::not_taken, "nobody holds this handle");
  return arena->let_go(held);
}

Units Pool::give_back(DeviceId device, Units wanted) {
  Arena* arena = arena_of(device);
  return arena == nullptr ? Units{0} : arena->give_back_units(wanted);
}

void Pool::service(std::uint64_t now_ms) {
  const std::uint32_t end = end_of_devices_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < end; ++i) {
    Device* device = devices_[i].load(std::memory_order_acquire);
    if (device == nullptr) continue;
    device->beside.cover();
    Arena* arena = device->arena.load(std::memory_order_acquire);
    if (arena == nullptr) continue;
    if (const Units wanted = device->parts.units.wanted(); wanted.count != 0) arena->give_back_units(wanted);
    arena->poll();
    // One of several callers ends the period.
    std::uint64_t due = device->period_end_ms.load(std::memory_order_relaxed);
    if (now_ms < due || !device->period_end_ms.compare_exchange_strong(due, now_ms + kPeriodMs, std::memory_order_relaxed))
      continue;
    if (due != 0) arena->settle();
  }
}

Result<DeviceStats> Pool::stats(DeviceId id) const {
  const Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(kUnknownDevice);
  DeviceStats now;
  if (const Arena* arena = device->arena.load(std::memory_order_acquire)) now.arena = arena->stats();
  now.beside = device->beside.stats();
  now.view = *view(id);
  now.limit = device->settings.arena.shape.unit * device->parts.units.limit().count;
  return now;
}

Result<Done> Pool::reset(DeviceId id) try {
  Device* device = device_at(id);
  if (device == nullptr) return tl::unexpected(kUnknownDevice);
  Arena* arena = nullptr;
  {
    RankedLock lock(device->mutex);
    device->retired.reserve(device->retired.size() + 1);
    arena = device->arena.exchange(nullptr, std::memory_order_acq_rel);
    if (arena != nullptr) device->retired.emplace_back(arena);
  }
  if (arena != nullptr) arena->drop();
  device->beside.drop();
  std::vector<Address> gone;
  RankedLock lock(mutex_);
  adopted_.for_each([&](const AddressMap::Record& record) {
    if (record.block.device == id) gone.push_back(record.block.base);
  });
  for (const Address base : gone) static_cast<void>(adopted_.erase(base));
  adopted_count_.store(adopted_.size(), std::memory_order_release);
  return Done{};
} catch (const std::bad_alloc&) {
  return fail(Errc::no_memory, "the host has no memory to forget a device");
}

void Pool::record(TraceRecorder* recorder, Clock clock_us) {
  clock_.store(clock_us, std::memory_order_relaxed);
  // Release: whoever sees the recorder sees its clock.
  recorder_.store(recorder, std::memory_order_release);
}

}  // namespace cupool::pool
