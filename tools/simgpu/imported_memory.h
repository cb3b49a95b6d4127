// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/physical.h"

namespace cupool::simgpu {

struct Device;

/// What one process tells another by value about a piece of memory: the content of CUipcMemHandle and CUmemPoolPtrExportData.
struct SharedRange {
  std::uint64_t magic;
  std::uint64_t handle;  ///< on the server
  std::uint64_t nonce;   ///< without which the server does not open it
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t block;  ///< tells a new block at an old address from the old one
  std::uint64_t pool;   ///< server handle of the pool, or 0
  std::int32_t process;
  std::uint32_t reserved;
};
static_assert(sizeof(SharedRange) == CU_IPC_HANDLE_SIZE);

inline constexpr std::uint64_t kIpcMagic = 0x3163706975676d73;   // "smguipc1"
inline constexpr std::uint64_t kPoolMagic = 0x31746e696f706d73;  // "smpoint1"

/// Memory of other processes as this one has it mapped: once per piece, however often parts of it are opened. Thread-safe.
class ImportedMemory {
 public:
  /// Maps (or finds) the piece that a range lies in, for `device`, and counts one use of it.
  CUresult open(const SharedRange& range, const Device& device, DeviceAddress& base, std::shared_ptr<Physical>& physical);
  /// One use less; the last one unmaps.
  void close(std::uint64_t handle);

 private:
  struct Piece {
    std::shared_ptr<Physical> physical;
    DeviceAddress base = 0;
    unsigned uses = 0;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Piece> pieces_;
};
ImportedMemory& imported_memory();

/// Makes a piece openable by others and returns the nonce that opens it: the same one every time.
std::uint64_t publish(Physical& physical);

}  // namespace cupool::simgpu
