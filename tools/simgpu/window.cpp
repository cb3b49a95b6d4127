// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/window.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "policy/base/log.h"
#include "tools/simgpu/address_space.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/read_scope.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kRegionBytes = std::uint64_t{64} << 30;
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Reserved host address ranges that windows are mapped into.
struct Regions {
  std::mutex mutex;
  AddressSpace free;
};
Regions& regions() {
  static Regions* const made = new Regions;  // never destroyed: windows end while the process does
  return *made;
}

log::Budget g_map_lines{2};

Result<std::uint64_t> take_range(std::uint64_t bytes) {
  Regions& all = regions();
  const std::lock_guard lock(all.mutex);
  if (auto base = all.free.take(bytes, kDevicePage)) return base;
  const std::uint64_t region = std::max(kRegionBytes, bytes) + kDevicePage;
  void* reserved = mmap(nullptr, region, PROT_NONE, kReserved, -1, 0);
  if (reserved == MAP_FAILED) return fail(Errc::no_memory, "no host address space");
  all.free.add(reinterpret_cast<std::uint64_t>(reserved), region);
  return all.free.take(bytes, kDevicePage);
}

void give_back_range(void* data, std::size_t bytes) {
  // Back to a reservation in one step, so that nobody else's mapping can slip in between.
  mmap(data, bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  const std::lock_guard lock(regions().mutex);
  regions().free.give_back(reinterpret_cast<std::uint64_t>(data), bytes);
}

}  // namespace

Result<Window> Window::open(const Descriptor& memory, std::uint64_t bytes) {
  const std::uint64_t span = (bytes + kDevicePage - 1) & ~(kDevicePage - 1);
  const auto base = take_range(span);
  if (!base) return tl::unexpected(base.error());
  void* at = reinterpret_cast<void*>(*base);
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory.get(), 0) == MAP_FAILED) {
    const int why = errno;
    give_back_range(at, span);
    if (why == ENOMEM) {
      log::write(
          log::Level::warning, g_map_lines,
          "simgpu: this process has too many mappings for more device memory (raise vm.max_map_count, or use larger pieces)");
    }
    return fail(Errc::no_memory, "the memory could not be mapped");
  }
  return Window{static_cast<std::byte*>(at), span};
}

Window& Window::operator=(Window&& other) noexcept {
  if (this != &other) {
    close();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Window::close() {
  if (data_ != nullptr) retire(data_, bytes_, &give_back_range);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace cupool::simgpu
