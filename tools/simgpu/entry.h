// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>
#include <utility>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/call_log.h"
#include "tools/simgpu/context.h"
#include "tools/simgpu/entry_id.h"

namespace cupool::simgpu {

/// What must hold before the body of an entry point runs. Combine with |.
enum class Needs : unsigned {
  nothing = 0,  ///< works before cuInit and after teardown: names, versions, lookup
  init = 1,     ///< 3 before cuInit and in a forked child, 4 after teardown
  context = 3,  ///< and a current context: 201 without one, 709 when it was destroyed, its own code after a fault
  context_if_any =
      9,           ///< the same checks when there is a current context; without one the object that is named says which is meant
  uncaptured = 4,  ///< "potentially unsafe" during stream capture: 900 or its kin when a capture forbids it
};
constexpr Needs operator|(Needs a, Needs b) {
  return static_cast<Needs>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// One call on its way through a body.
class Call {
 public:
  Call(EntryId id, Needs needs) : id_(id), needs_(needs) {}

  Context* context = nullptr;  ///< the current one; null only in a body that does not need it
  std::uint64_t bytes = 0;     ///< set by a body whose cost depends on an amount

  EntryId id() const { return id_; }
  CUresult admit();
  CUresult finish(CUresult code) const;

 private:
  CUresult check_state();
  CUresult apply_faults() const;

  EntryId id_;
  Needs needs_;
};

/// Open while a host function (cuLaunchHostFunc) runs on this thread: it may not call the driver, calls in it answer 800.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

/// The frame of every entry point: state, context, fault plan, body, cost, log; no exception leaves.
///
///     CUresult cuStreamCreate(CUstream* out, unsigned flags) {
///       return enter(EntryId::cuStreamCreate, Needs::context, [&](Call& call) -> CUresult { ... *call.context ... }, out, flags);
///     }
///
/// The arguments at the end are for the log only. An exhausted host answers CUDA_ERROR_OUT_OF_MEMORY.
template <class Body, class... Arguments>
CUresult enter(EntryId id, Needs needs, Body&& body, const Arguments&... arguments) noexcept {
  Call call(id, needs);
  CUresult code = call.admit();
  if (code == CUDA_SUCCESS) {
    try {
      code = std::forward<Body>(body)(call);
    } catch (const std::bad_alloc&) {
      code = CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
      code = CUDA_ERROR_UNKNOWN;
    }
  }
  code = call.finish(code);
  if (call_log_enabled()) {
    try {
      std::string text;
      (detail::append_argument(text, arguments), ...);
      log_call(row_of(id).exported, text, code);
    } catch (...) {
      return code;
    }
  }
  return code;
}

}  // namespace cupool::simgpu
