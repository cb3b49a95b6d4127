// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cupool::bench {

/// What every contestant rounds requests to, and aligns blocks to: what PyTorch uses.
inline constexpr std::uint64_t kAlignment = 512;

inline std::uint64_t rounded(std::uint64_t bytes) {
  return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Where a block lies. `mark` is the contestant's own.
struct Block {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t mark = 0;
};

/// An allocator in an address range that is long enough, as the benchmark sees it.
class Contestant {
 public:
  virtual ~Contestant() = default;
  /// `bytes` is a multiple of kAlignment. Never fails: the range is long enough.
  virtual Block take(std::uint64_t bytes) = 0;
  virtual void give_back(const Block& block) = 0;
  /// Bytes of the range that were ever in use at once: for one arena its highest end, for a cache what it holds of the driver.
  virtual std::uint64_t range_in_use() const = 0;
  virtual std::uint64_t metadata_bytes() const { return 0; }
  /// Others are used behind one mutex.
  virtual bool is_thread_safe() const { return false; }
};

struct ContestantKind {
  std::string name;
  std::string what;
  /// For a program whose live blocks never exceed so many bytes.
  std::function<std::unique_ptr<Contestant>(std::uint64_t largest_live)> make;
};

/// All that run inside this process, ours first.
const std::vector<ContestantKind>& contestants();

}  // namespace cupool::bench
