// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <new>

#include "shim/abi/driver_api.h"
#include "shim/abi/nvml_types.h"
#include "shim/entry_table.h"
#include "shim/real_driver.h"
#include "shim/report/recorder.h"
#include "shim/session.h"

/// Where a program's call becomes ours, and stops being ours: one Gate per entry. It sends calls that we make ourselves straight to
/// the driver, starts the session once, counts and times, and lets nothing that is thrown out into the program.
namespace cupool::shim {

/// How many of our hooks this thread is inside of. Initial-exec, because a launch has ten nanoseconds for everything; eight bytes
/// of the space that glibc keeps for libraries that are opened later.
extern thread_local int hook_depth __attribute__((tls_model("initial-exec")));

/// While one lives, this thread's driver calls are our own and pass every hook.
class OwnCalls {
 public:
  OwnCalls() { ++hook_depth; }
  ~OwnCalls() { --hook_depth; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
};
inline bool is_own_call() {
  return hook_depth != 0;
}

/// The gate before launches and copies: closed while memory that they might use is moved. Open costs one load.
extern constinit std::atomic<bool> gate_is_closed;
/// Waits until the gate is open again. Called only when it is closed.
void wait_at_gate();

inline void pass_gate() {
  if (gate_is_closed.load(std::memory_order_acquire)) [[unlikely]]
    wait_at_gate();
}

/// Runs `body` so that nothing thrown leaves it: out of memory on the host is out of memory (2) for the program, anything else 999.
template <class Body>
CUresult at_boundary(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// One governed call, counted and timed under its slot.
template <Timing T>
class Counted {
 public:
  explicit Counted(std::uint32_t slot) : slot_(slot) {
    if constexpr (T == Timing::timed) start_ = report::ticks();
  }
  /// Passes the result on.
  template <class Result>
  Result operator()(Result result) const {
    if constexpr (T == Timing::timed) {
      recorder().called(slot_, start_, result == Result{});
    } else {
      recorder().counted(slot_);
    }
    return result;
  }

 private:
  std::uint32_t slot_;
  std::uint64_t start_ = 0;
};

template <Entry E, Timing T, class F>
struct Gate;
template <Entry E, Timing T, class... A>
struct Gate<E, T, CUresult(A...)> {
  using Function = CUresult (*)(A...);
  static constexpr DriverFunction<E, CUresult(A...)> driver{};

  /// Serve::driver, and `count` rows.
  static CUresult to_driver(A... arguments) {
    if (is_own_call()) return driver(arguments...);
    start_session();
    return Counted<T>(static_cast<std::uint32_t>(row(E).slot))(driver(arguments...));
  }

  /// Serve::gate.
  static CUresult through_gate(A... arguments) {
    if (is_own_call()) return driver(arguments...);
    start_session();
    pass_gate();
    return Counted<T>(static_cast<std::uint32_t>(row(E).slot))(driver(arguments...));
  }

  /// Serve::function.
  template <Function Hook>
  static CUresult to_hook(A... arguments) {
    if (is_own_call()) return driver(arguments...);
    if constexpr (kStarts) start_session();
    const Counted<T> counted(static_cast<std::uint32_t>(row(E).slot));
    const OwnCalls own;
    return counted(at_boundary([&] { return Hook(arguments...); }));
  }

 private:
  /// A lookup is answered without a policy: programs look up hundreds of names that they never call.
  static constexpr bool kStarts = E != Entry::cuGetProcAddress && E != Entry::cuGetProcAddress_v2;
};

template <std::uint32_t Slot, class F>
struct NvmlGate;
template <std::uint32_t Slot, class... A>
struct NvmlGate<Slot, nvmlReturn_t(A...)> {
  using Function = nvmlReturn_t (*)(A...);
  static constexpr NvmlFunction<Slot, nvmlReturn_t(A...)> real{};

  static nvmlReturn_t to_nvml(A... arguments) {
    if (is_own_call()) return real(arguments...);
    start_session();
    return Counted<Timing::timed>(Slot)(real(arguments...));
  }

  template <Function Hook>
  static nvmlReturn_t to_hook(A... arguments) noexcept {
    if (is_own_call()) return real(arguments...);
    start_session();
    const Counted<Timing::timed> counted(Slot);
    const OwnCalls own;
    try {
      return counted(Hook(arguments...));
    } catch (...) {
      return NVML_ERROR_UNKNOWN;
    }
  }
};

}  // namespace cupool::shim
