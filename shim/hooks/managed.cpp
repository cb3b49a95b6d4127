// SPDX-License-Identifier: Apache-2.0
//
// Managed memory: the driver's, charged when the policy says so, because it lives on the device as far as it is used there.
#include "shim/hooks/hooks.h"
#include "shim/real_driver.h"
#include "shim/serving.h"

namespace cupool {

CUresult hook::cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  const auto by_driver = [&](CUdeviceptr* out) { return driver::cuMemAllocManaged(out, bytes, flags); };
  shim::Process& self = shim::process();
  const shim::ContextFacts context = self.is_governed() ? self.current_context() : shim::ContextFacts{};
  const shim::Device* device = context.number == 0 ? nullptr : self.device(context.device);
  if (device == nullptr || !device->policy().terms.pool.charge.has(policy::Charge::managed)) return by_driver(address);
  const Bytes given{round_up(bytes, 2 * kMiB.count).value_or(bytes)};
  return shim::serve_beside({"cuMemAllocManaged", bytes}, pool::BesideKind::managed, given, address, by_driver);
}

}  // namespace cupool
