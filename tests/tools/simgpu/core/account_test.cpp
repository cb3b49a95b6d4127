// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/account.h"

#include <catch2/catch.hpp>
#include <random>

namespace cupool::simgpu {
namespace {

using protocol::Purpose;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr ClientId kAnn = 1;
constexpr ClientId kBob = 2;

}  // namespace

TEST_CASE("a GPU's capacity is the sum of everybody's handles", "[simgpu][account]") {
  Account account{{10 * kMiB}};
  REQUIRE(account.allocate(kAnn, 0, 6 * kMiB, Purpose::linear));
  CHECK(account.allocate(kBob, 0, 5 * kMiB, Purpose::physical).error().code == Errc::no_memory);
  CHECK(account.allocate(kBob, 0, 4 * kMiB, Purpose::context));
  CHECK(account.used(0) == 10 * kMiB);
  CHECK(account.is_consistent());
}

TEST_CASE("a size that would wrap around is refused", "[simgpu][account]") {
  Account account{{10 * kMiB}};
  REQUIRE(account.allocate(kAnn, 0, kMiB, Purpose::linear));
  CHECK(account.allocate(kAnn, 0, UINT64_MAX, Purpose::linear).error().code == Errc::no_memory);
  CHECK(account.used(0) == kMiB);
}

TEST_CASE("host and managed memory is charged to no GPU", "[simgpu][account]") {
  Account account{{kMiB}};
  REQUIRE(account.allocate(kAnn, 0, 100 * kMiB, Purpose::host));
  REQUIRE(account.allocate(kAnn, 0, 100 * kMiB, Purpose::managed));
  CHECK(account.used(0) == 0);
}

TEST_CASE("a handle that another process imported outlives its creator", "[simgpu][account]") {
  Account account{{10 * kMiB}};
  const HandleId handle = *account.allocate(kAnn, 0, 4 * kMiB, Purpose::physical);
  REQUIRE(account.retain(kBob, handle));
  CHECK(account.drop_client(kAnn).empty());
  CHECK(account.used(0) == 4 * kMiB);
  CHECK(account.holders(0).at(kBob) == 4 * kMiB);
  CHECK(account.release(kBob, handle, 1)->has_value());
  CHECK(account.used(0) == 0);
}

TEST_CASE("an exported descriptor alone keeps the memory charged", "[simgpu][account]") {
  Account account{{10 * kMiB}};
  const HandleId handle = *account.allocate(kAnn, 0, 4 * kMiB, Purpose::physical);
  account.hold_export(handle);
  CHECK_FALSE(account.release(kAnn, handle, 1)->has_value());
  CHECK(account.used(0) == 4 * kMiB);
  CHECK(account.drop_export(handle).has_value());
  CHECK(account.used(0) == 0);
}

TEST_CASE("a reference that a process does not have cannot be released", "[simgpu][account]") {
  Account account{{10 * kMiB}};
  const HandleId handle = *account.allocate(kAnn, 0, kMiB, Purpose::linear);
  CHECK(account.release(kBob, handle, 1).error().code == Errc::not_taken);
  CHECK(account.release(kAnn, handle, 2).error().code == Errc::not_taken);
  CHECK(account.used(0) == kMiB);
}

TEST_CASE("any sequence of operations leaves the account consistent", "[simgpu][account]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  Account account{{64 * kMiB, 32 * kMiB}};
  std::vector<HandleId> handles;
  for (int step = 0; step < 20'000; ++step) {
    const ClientId client = 1 + pick(4);
    const HandleId handle = handles.empty() ? 1 : handles[pick(handles.size())];
    switch (pick(6)) {
      case 0:
        if (const auto made =
                account.allocate(client, static_cast<std::uint32_t>(pick(3)), pick(8) * kMiB, static_cast<Purpose>(pick(8)))) {
          handles.push_back(*made);
        }
        break;
      case 1:
        (void)account.retain(client, handle);
        break;
      case 2:
        (void)account.release(client, handle, 1 + pick(2));
        break;
      case 3:
        account.hold_export(handle);
        break;
      case 4:
        account.drop_export(handle);
        break;
      default:
        if (pick(50) == 0) account.drop_client(client);
    }
    if (step % 100 == 0) REQUIRE(account.is_consistent());
  }
  for (ClientId client = 1; client <= 4; ++client) account.drop_client(client);
  for (const HandleId handle : handles) {
    while (account.find(handle) != nullptr) account.drop_export(handle);
  }
  CHECK(account.handle_count() == 0);
  CHECK(account.used(0) + account.used(1) == 0);
}

}  // namespace cupool::simgpu
