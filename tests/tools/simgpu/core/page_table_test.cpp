// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/page_table.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace cupool::simgpu {
namespace {

/// Some 2 MiB-aligned host pages, and a started table.
struct Pages {
  explicit Pages(std::uint64_t count) : bytes(count * kDevicePage) {
    REQUIRE(page_table().start(kDevicePage * 1024));
    raw = static_cast<std::byte*>(
        mmap(nullptr, bytes + kDevicePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(raw != MAP_FAILED);
    const auto address = reinterpret_cast<std::uint64_t>(raw);
    data = raw + ((kDevicePage - address % kDevicePage) % kDevicePage);
  }
  ~Pages() { munmap(raw, bytes + kDevicePage); }
  std::byte* raw = nullptr;
  std::byte* data = nullptr;
  std::uint64_t bytes;
};

std::string runs(DeviceAddress address, std::uint64_t bytes, unsigned device, Access access, bool& whole) {
  std::string text;
  whole = page_table().for_each_run(address, bytes, device, access,
                                    [&](std::byte*, std::uint64_t length) { text += std::to_string(length) + ' '; });
  return text;
}

}  // namespace

TEST_CASE("a mapped page translates for the device that has the right, and for no other", "[simgpu][page_table]") {
  Pages pages{2};
  page_table().map(kDeviceBase, pages.bytes, pages.data, Rights::of(3, Access::read));
  CHECK(page_table().translate(kDeviceBase + kDevicePage + 5, 3, Access::read) == pages.data + kDevicePage + 5);
  CHECK(page_table().translate(kDeviceBase, 3, Access::write) == nullptr);
  CHECK(page_table().translate(kDeviceBase, 2, Access::read) == nullptr);
  page_table().set_rights(kDeviceBase, pages.bytes, 2, Access::read_write);
  CHECK(page_table().translate(kDeviceBase, 2, Access::read_write) == pages.data);
  CHECK(page_table().translate(kDeviceBase, 3, Access::read) == pages.data);
  page_table().unmap(kDeviceBase, pages.bytes);
  CHECK(page_table().translate(kDeviceBase, 2, Access::read) == nullptr);
}

TEST_CASE("the view that kernels get translates as the table does", "[simgpu][page_table]") {
  Pages pages{1};
  const KernelView view = page_table().view_for(1);
  page_table().map(kDeviceBase, pages.bytes, pages.data, Rights::of(1, Access::read_write));
  const std::uint64_t address = kDeviceBase + 12345;
  const std::uint64_t index = (address - view.base) >> kDevicePageBits;
  REQUIRE(index < view.count);
  CHECK((view.entries[index] & view.write_mask) == view.write_mask);
  CHECK((view.entries[index] & ~(kDevicePage - 1)) + (address & (kDevicePage - 1)) ==
        reinterpret_cast<std::uint64_t>(pages.data + 12345));
  int on_host = 0;
  REQUIRE(page_table().map_host(reinterpret_cast<DeviceAddress>(&on_host), sizeof on_host, Rights::of(1, Access::read_write)));
  CHECK(view.slow(reinterpret_cast<std::uint64_t>(&on_host), view.read_mask) == &on_host);
  page_table().unmap_host(reinterpret_cast<DeviceAddress>(&on_host), sizeof on_host);
  CHECK(view.slow(reinterpret_cast<std::uint64_t>(&on_host), view.read_mask) == nullptr);
  page_table().unmap(kDeviceBase, pages.bytes);
}

TEST_CASE("a run joins what is contiguous on the host and ends at the first bad page", "[simgpu][page_table]") {
  Pages pages{4};
  bool whole = false;
  // Pages 0 and 1 in order, then page 3, then nothing.
  page_table().map(kDeviceBase, 2 * kDevicePage, pages.data, Rights::of(0, Access::read_write));
  page_table().map(kDeviceBase + 2 * kDevicePage, kDevicePage, pages.data + 3 * kDevicePage, Rights::of(0, Access::read_write));
  CHECK(runs(kDeviceBase + 100, 3 * kDevicePage - 100, 0, Access::write, whole) ==
        std::to_string(2 * kDevicePage - 100) + ' ' + std::to_string(kDevicePage) + ' ');
  CHECK(whole);
  runs(kDeviceBase, 3 * kDevicePage + 1, 0, Access::read, whole);
  CHECK_FALSE(whole);
  CHECK(runs(UINT64_MAX - 10, 100, 0, Access::read, whole).empty());
  CHECK_FALSE(whole);
  page_table().unmap(kDeviceBase, 3 * kDevicePage);
}

TEST_CASE("two addresses of one page show the same memory", "[simgpu][page_table]") {
  Pages pages{1};
  for (const DeviceAddress at : {kDeviceBase, kDeviceBase + 7 * kDevicePage}) {
    page_table().map(at, pages.bytes, pages.data, Rights::of(0, Access::read_write));
  }
  *page_table().translate(kDeviceBase + 9, 0, Access::write) = std::byte{42};
  CHECK(*page_table().translate(kDeviceBase + 7 * kDevicePage + 9, 0, Access::read) == std::byte{42});
  page_table().unmap(kDeviceBase, kDevicePage);
  CHECK(*page_table().translate(kDeviceBase + 7 * kDevicePage + 9, 0, Access::read) == std::byte{42});
  page_table().unmap(kDeviceBase + 7 * kDevicePage, kDevicePage);
}

TEST_CASE("a range that is no whole number of pages cannot be reserved", "[simgpu][page_table]") {
  PageTable fresh;
  CHECK(fresh.start(kDevicePage + 1).error().code == Errc::invalid_argument);
  CHECK(fresh.start(2 * kDeviceRangeLimit).error().code == Errc::invalid_argument);
}

}  // namespace cupool::simgpu
