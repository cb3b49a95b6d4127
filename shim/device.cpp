// SPDX-License-Identifier: Apache-2.0
#include "shim/device.h"

#include <array>
#include <cstdio>

#include "policy/base/log.h"
#include "shim/real_driver.h"
#include "shim/session.h"

namespace cupool::shim {
namespace {

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t index = 0; index < 16; ++index) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(uuid.bytes[index]));
    if (index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    text += digits.data();
  }
  return text;
}

/// Address space for the arena: room for holes between what is mapped, and never too little for the largest single block. Reserving
/// costs nothing but page-table entries on demand. Random blocks of up to the whole limit, at the limit, use three times as much and
/// find four too little once in some thousand requests; traces use 1.1.
constexpr std::uint64_t kRangePerLimit = 8;

}  // namespace

Device::Device(CUdevice ordinal, const StreamRegistry& streams)
    : ordinal_(ordinal),
      backing_(std::make_unique<DriverBacking>(ordinal)),
      completions_(std::make_unique<EventCompletions>(streams, ordinal)) {}

void Device::read_facts() {
  CUuuid uuid{};
  if ((driver::cuDeviceGetUuid_v2.exists() ? driver::cuDeviceGetUuid_v2(&uuid, ordinal_)
                                           : driver::cuDeviceGetUuid(&uuid, ordinal_)) == CUDA_SUCCESS) {
    uuid_ = uuid_text(uuid);
  }
  std::array<char, 96> name{};
  if (driver::cuDeviceGetName(name.data(), static_cast<int>(name.size()), ordinal_) == CUDA_SUCCESS) name_ = name.data();
  std::size_t total = 0;
  driver::cuDeviceTotalMem_v2(&total, ordinal_);
  total_ = Bytes{total};
}

void Device::introduce(pool::Pool& pool) {
  const policy::PoolTerms& terms = policy_.terms.pool;
  const policy::JobTerms& job = policy_.job;
  units_ = std::make_unique<pool::LimitedUnits>(std::min(job.rules.limit, terms.capacity));
  pool::DeviceSettings settings;
  settings.arena.shape = pool::UnitShape{terms.unit, terms.handle};
  settings.arena.alignment = terms.alignment;
  settings.arena.keep = units_covering(terms.keep, terms.unit);
  settings.arena.engine = terms.heap == policy::Heap::buddy ? pool::Engine::buddy : pool::Engine::tlsf;
  settings.arena.range = Bytes{std::max<std::uint64_t>(job.rules.limit.count, 1) * terms.unit.count * kRangePerLimit};
  settings.total = total_;
  pooled_ = job.serve == policy::Serve::pool && backing_->granularity().count != 0 &&
            terms.handle.count % backing_->granularity().count == 0;
  if (!pooled_ && job.serve == policy::Serve::pool) {
    log::write(log::Level::warning,
               "GPU " + uuid_ + ": no virtual memory management here; the driver serves allocations, within the limit");
  }
  const Result<Done> added = pool.add_device(id(), settings, pool::DeviceParts{*backing_, *units_, completions_.get()});
  if (!added) fault_ = std::string("the pool cannot be set up: ") + added.error().detail;
}

void Device::announce() const {
  const policy::PoolTerms& terms = policy_.terms.pool;
  report::DeviceFacts facts;
  facts.uuid = uuid_;
  facts.name = name_;
  facts.total = total_;
  facts.limit = terms.unit * std::min(policy_.job.rules.limit, terms.capacity).count;
  facts.guarantee = terms.unit * policy_.job.rules.guarantee.count;
  facts.unit = terms.unit;
  facts.handle = terms.handle;
  facts.governed = true;
  facts.pooled = pooled_;
  recorder().add_device(id().index, facts);
  for (const policy::Misfit& misfit : policy_.misfits) recorder().warn(misfit.pointer + ": " + misfit.text);
  for (const policy::Clip& clip : policy_.clips) recorder().warn(clip.text);
}

std::unique_ptr<Device> Device::open(CUdevice ordinal, const Governor& governor, const StreamRegistry& streams, pool::Pool& pool) {
  std::unique_ptr<Device> device(new Device(ordinal, streams));
  device->read_facts();
  device->policy_ = governor.compose({device->uuid_, static_cast<std::uint32_t>(ordinal), device->total_});
  for (const policy::Misfit& misfit : device->policy_.misfits) {
    if (misfit.severity == policy::Misfit::Severity::error) device->fault_ = misfit.pointer + ": " + misfit.text;
  }
  if (device->fault_.empty()) device->introduce(pool);
  device->announce();
  return device;
}

}  // namespace cupool::shim
