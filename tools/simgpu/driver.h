// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/client/connection.h"
#include "tools/simgpu/device.h"

namespace cupool::simgpu {

/// The library in this process: from cuInit to the teardown at exit. Never destroyed. Thread-safe.
class Driver {
 public:
  enum class Phase : int {
    fresh,  ///< cuInit has not succeeded yet: calls answer 3
    ready,
    torn_down,  ///< exit has begun: calls answer 4
  };

  /// cuInit: joins the machine. CUDA_ERROR_NO_DEVICE when none is visible, CUDA_ERROR_SYSTEM_NOT_READY with a line on stderr when
  /// the machine cannot be joined. Later calls answer as the first one did when it succeeded, and try again when it failed.
  CUresult initialise();

  /// What the process's state alone answers: CUDA_SUCCESS, 3 before cuInit and in a forked child, 4 after teardown.
  CUresult state() const;

  void tear_down() { phase_.store(Phase::torn_down, std::memory_order_release); }
  Phase phase() const { return phase_.load(std::memory_order_acquire); }

  int device_count() const { return static_cast<int>(devices_.size()); }
  /// Null for an ordinal that is not visible.
  Device* device(CUdevice ordinal);
  /// The visible device that is `gpu` on the machine, or null.
  Device* device_of_gpu(std::uint32_t gpu);

  Connection& connection() { return connection_; }

 private:
  CUresult join();

  // Release by initialise(), acquire by state(): whoever sees `ready` sees the devices and the connection.
  std::atomic<Phase> phase_{Phase::fresh};
  std::mutex mutex_;
  Connection connection_;
  std::deque<Device> devices_;
};

/// The process's driver.
Driver& driver();

/// The CUDA version that this library says it is (driver_release.h).
int driver_version();

}  // namespace cupool::simgpu
