// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cupool::pool {

/// Block identities, each given out once in the life of the process.
class IdentitySource {
 public:
  /// The next one. Not thread-safe: one source per lock. Lots are fetched from a counter of the whole process, so that a take does
  /// not touch a cache line that all arenas share.
  std::uint64_t next();

 private:
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace cupool::pool
