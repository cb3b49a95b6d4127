// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/entry.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "tools/simgpu/cost.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/fault_plan.h"

namespace cupool::simgpu {
namespace {

constexpr bool has(Needs needs, Needs wanted) {
  return (static_cast<unsigned>(needs) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

thread_local unsigned t_host_functions = 0;

}  // namespace

HostFunctionScope::HostFunctionScope() {
  ++t_host_functions;
}
HostFunctionScope::~HostFunctionScope() {
  --t_host_functions;
}

CUresult Call::check_state() {
  if (!has(needs_, Needs::init)) return CUDA_SUCCESS;
  if (const CUresult state = driver().state(); state != CUDA_SUCCESS) return state;
  if (t_host_functions != 0) return CUDA_ERROR_NOT_PERMITTED;
  context = current_context();
  if (context == nullptr && has(needs_, Needs::context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (has(needs_, Needs::context_if_any) && context != nullptr && context->is_destroyed()) context = nullptr;
  if (context != nullptr && (has(needs_, Needs::context) || has(needs_, Needs::context_if_any))) {
    if (context->is_destroyed()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (const CUresult sticky = context->sticky(); sticky != CUDA_SUCCESS) return sticky;
  }
  return has(needs_, Needs::uncaptured) ? capture_verdict() : CUDA_SUCCESS;
}

CUresult Call::apply_faults() const {
  const EntryRow& row = row_of(id_);
  const Fault fault = fault_plan().on_call(row.exported, row.base);
  while (fault.hang) pause();
  if (fault.delay_ns != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(fault.delay_ns));
  const auto code = static_cast<CUresult>(fault.code);
  if (fault.sticky && context != nullptr) context->fail(code);
  return code;
}

CUresult Call::admit() {
  if (const CUresult code = check_state(); code != CUDA_SUCCESS) return code;
  return fault_plan().is_empty() ? CUDA_SUCCESS : apply_faults();
}

CUresult Call::finish(CUresult code) const {
  virtual_clock().spend(call_cost_ns(id_, bytes));
  return code;
}

}  // namespace cupool::simgpu
