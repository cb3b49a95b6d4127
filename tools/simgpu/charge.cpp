// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/charge.h"

#include "tools/simgpu/device.h"
#include "tools/simgpu/driver.h"

namespace cupool::simgpu {

Result<Charge> Charge::take(const Device& device, protocol::Purpose purpose, std::uint64_t bytes) {
  if (bytes == 0) return Charge{};
  auto grant = driver().connection().allocate(device.gpu, bytes, purpose, 0);
  if (!grant) return tl::unexpected(grant.error());
  return Charge{grant->handle};
}

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this != &other) {
    give_back();
    handle_ = std::exchange(other.handle_, 0);
  }
  return *this;
}

void Charge::give_back() {
  if (handle_ != 0) driver().connection().release(std::exchange(handle_, 0));
}

}  // namespace cupool::simgpu
