// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "policy/layers.h"
#include "pool/pool.h"
#include "shim/abi/cuda_types.h"
#include "shim/completions.h"
#include "shim/driver_backing.h"
#include "shim/governor.h"
#include "shim/streams.h"

namespace cupool::shim {

/// One GPU (or MIG instance) as this process uses it: what the policy allows there, and who the pool is made of.
///
/// Immutable after open() but for its parts, which are thread-safe. Lives as long as the process.
class Device {
 public:
  /// Asks the driver what the device is and the policy what applies, and introduces it to the pool. Needs an initialised driver.
  static std::unique_ptr<Device> open(CUdevice ordinal, const Governor& governor, const StreamRegistry& streams, pool::Pool& pool);

  CUdevice ordinal() const { return ordinal_; }
  pool::DeviceId id() const { return pool::DeviceId{static_cast<std::uint32_t>(ordinal_)}; }
  const std::string& uuid() const { return uuid_; }
  const policy::Composed& policy() const { return policy_; }
  /// Why nothing may be allocated here: the policy makes no sense on this device. Empty when it does.
  const std::string& fault() const { return fault_; }
  /// Whether blocks come from the pool; else the driver serves them under the same limit (no virtual memory, or "serve": "direct").
  bool is_pooled() const { return pooled_; }
  /// Whether a free waits for the device, as the driver's own does ("free": "wait").
  bool waits_on_free() const { return policy_.terms.pool.free == policy::FreeMode::wait; }

  DriverBacking& backing() { return *backing_; }
  EventCompletions& completions() { return *completions_; }

 private:
  Device(CUdevice ordinal, const StreamRegistry& streams);
  void read_facts();
  void introduce(pool::Pool& pool);
  void announce() const;

  const CUdevice ordinal_;
  std::string uuid_, name_;
  Bytes total_{};
  policy::Composed policy_;
  std::string fault_;
  bool pooled_ = false;
  std::unique_ptr<DriverBacking> backing_;
  std::unique_ptr<EventCompletions> completions_;
  std::unique_ptr<pool::LimitedUnits> units_;
};

}  // namespace cupool::shim
