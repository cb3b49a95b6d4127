// SPDX-License-Identifier: Apache-2.0
#include "pool/identity.h"

#include <atomic>

namespace cupool::pool {
namespace {

constexpr std::uint64_t kLot = 4096;
std::atomic<std::uint64_t> g_next{1};

}  // namespace

std::uint64_t IdentitySource::next() {
  if (next_ == end_) {
    // Relaxed: only that no number is given out twice matters.
    next_ = g_next.fetch_add(kLot, std::memory_order_relaxed);
    end_ = next_ + kLot;
  }
  return next_++;
}

}  // namespace cupool::pool
