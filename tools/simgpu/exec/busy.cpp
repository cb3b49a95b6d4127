// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/busy.h"

#include <array>
#include <atomic>

#include "tools/simgpu/driver.h"
#include "tools/simgpu/exec/scheduler.h"
#include "tools/simgpu/page_table.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kTellEveryNs = 100'000'000;

// Relaxed: sums and a time that order nothing; two threads that both find it time to tell each tell what they took out.
struct Account {
  std::atomic<std::uint64_t> untold_ns{0};
  std::atomic<std::uint64_t> told_at_ns{0};
};
std::array<Account, kMaxDevices> g_accounts;

}  // namespace

BusySpan::BusySpan(std::uint32_t gpu) : gpu_(gpu), began_ns_(steady_now_ns()) {}

BusySpan::~BusySpan() {
  const std::uint64_t now = steady_now_ns();
  Account& account = g_accounts[gpu_ % kMaxDevices];
  account.untold_ns.fetch_add(now - began_ns_, std::memory_order_relaxed);
  std::uint64_t told_at = account.told_at_ns.load(std::memory_order_relaxed);
  if (now - told_at < kTellEveryNs || !account.told_at_ns.compare_exchange_strong(told_at, now, std::memory_order_relaxed)) return;
  driver().connection().report_busy(gpu_, account.untold_ns.exchange(0, std::memory_order_relaxed));
}

}  // namespace cupool::simgpu
