// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "tools/simgpu/ptx/memory.h"
#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/runtime/abi_types.h"
#include "tools/simgpu/ptx/translate/translate.h"

namespace cupool::simgpu::ptx {

/// What went wrong in a thread. Trivial, so that it can be recorded where nothing may be destroyed.
struct Fault {
  Outcome::Kind kind = Outcome::Kind::ok;
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  bool write = false;
  enum class Where : std::uint8_t { global, shared, local, param } where = Where::global;
  std::uint32_t line = 0;
  std::uint64_t block = 0;
  std::uint32_t thread[3] = {0, 0, 0};
  // Of a failed assertion: generic addresses of the texts.
  std::uint64_t message = 0, file = 0, function = 0;
  std::uint32_t file_line = 0;
};

/// One launch, shared by the workers that run it.
struct LaunchState {
  Memory& memory;
  const LaunchControl& control;
  const KernelPlan& plan;
  const Launch& launch;
  std::uint64_t blocks = 0;
  std::uint32_t threads = 0;  ///< per block
  std::chrono::steady_clock::time_point deadline{};

  std::atomic<std::uint64_t> next_block{0};
  /// The lowest block that faulted: later ones need not run, earlier ones finish, so that the report does not depend on the
  /// workers.
  std::atomic<std::uint64_t> first_fault{std::numeric_limits<std::uint64_t>::max()};
  std::mutex mutex;  ///< guards what follows, and the print callback
  Fault fault;
  std::string detail;  ///< what an assertion said, or the neighbour of a bad address

  /// Keeps the fault if no earlier block had one.
  void report(const Fault& fault, std::string detail);
};

/// The generated code's context and what its helpers need beside it. One per host thread, reused from launch to launch.
///
/// Helpers leave a faulting kernel with longjmp to `escape`: between there and here are only frames of generated C and of helpers
/// that own nothing at that moment.
struct Worker : abi::sg_ctx {
  LaunchState* state = nullptr;
  std::jmp_buf escape;
  Fault fault;
  std::uint64_t block = 0;         ///< linear number of the running block
  std::uint64_t shared_limit = 0;  ///< what shared_size is when accesses are not all checked
  std::uint64_t local_limit = 0;
  std::vector<std::uint8_t> shared_memory;
  std::vector<std::uint8_t> local_memory;

  static Worker& from(abi::sg_ctx* context) { return *static_cast<Worker*>(context); }

  /// Forgets all pages and points at the launch.
  void begin(LaunchState& launch, const std::uint64_t* globals);
  void forget_pages();
  void set_block(std::uint64_t linear);
  [[noreturn]] void leave(Outcome::Kind kind, std::uint32_t line);
  /// Whether the launch should end here: the reason, or ok.
  Outcome::Kind interruption() const;
};

extern const abi::sg_runtime kRuntime;

/// A text in device memory, up to 1024 bytes, for messages; never faults ("?" where it cannot be read).
std::string read_text(Worker& worker, std::uint64_t address);

/// Host address behind a device or generic address, or null; for what must not fault.
std::uint8_t* peek(Worker& worker, std::uint64_t address, std::uint32_t size);

/// How many branches pass before somebody looks at the clock.
inline constexpr std::int64_t kFuel = 1 << 16;

}  // namespace cupool::simgpu::ptx
