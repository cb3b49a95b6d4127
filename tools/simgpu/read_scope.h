// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupool::simgpu {

/// Held by whatever touches memory through translated addresses: a running kernel, a copy, a memset.
///
/// Host memory that is retired while a scope is open stays mapped until every scope that was open then has ended. Scopes nest; each
/// belongs to the thread that opened it. Cost: one atomic exchange and one store. Never wait for a driver call inside a scope.
class ReadScope {
 public:
  ReadScope();
  ~ReadScope();
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;
};

/// Gives host memory up when its last reader is gone: `give_up(memory, bytes)` is called once, on whichever thread notices.
using GiveUp = void (*)(void* memory, std::size_t bytes);

/// Hands over host memory that the page table no longer shows, to be given up when no scope can still be using it. Thread-safe;
/// calls `give_up` at once when no scope is open. No lock that `give_up` takes may be held.
void retire(void* memory, std::size_t bytes, GiveUp give_up);

/// Bytes handed to retire() and not given up yet: for tests.
std::size_t retired_bytes();

}  // namespace cupool::simgpu
