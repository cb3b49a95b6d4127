// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/operation.h"

#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/exec/busy.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/memory_operation.h"
#include "tools/simgpu/exec/stream_object.h"
#include "tools/simgpu/module/function.h"

namespace cupool::simgpu {
namespace {

Outcome concluded(Context& context, CUresult code) {
  if (code == CUDA_SUCCESS) return Outcome::done();
  context.fail(code);
  return Outcome::failed(code);
}

/// Work that keeps the context's device busy.
template <class Work>
Outcome on_device(Context& context, Work&& work) {
  CUresult code = CUDA_SUCCESS;
  {
    const BusySpan busy(context.device().gpu);
    code = work();
  }
  return concluded(context, code);
}

struct CostOf {
  const Context& context;

  std::uint64_t operator()(const KernelOperation& kernel) const { return kernel_cost_ns(kernel, context.device()); }
  std::uint64_t operator()(const CopyOperation& copy) const {
    return copy_cost_ns(context.device(), path_of(copy.job), copy.job.bytes());
  }
  std::uint64_t operator()(const CUDA_MEMSET_NODE_PARAMS& set) const {
    return copy_cost_ns(context.device(), CopyPath::set, set.width * set.elementSize * set.height);
  }
  template <class Other>
  std::uint64_t operator()(const Other&) const {
    return 0;
  }
};

struct ActionOf {
  const SharedOperation& operation;

  Action operator()(const KernelOperation&) const {
    return [operation = operation] {
      Context& context = *operation->context;
      return on_device(context, [&] { return launch_now(*operation->as<KernelOperation>(), context); });
    };
  }
  Action operator()(const CopyOperation&) const {
    return [operation = operation] {
      return on_device(*operation->context, [&] { return perform(operation->as<CopyOperation>()->job); });
    };
  }
  Action operator()(const CUDA_MEMSET_NODE_PARAMS&) const {
    return [operation = operation] {
      Context& context = *operation->context;
      return on_device(context, [&] { return perform_set(*operation->as<CUDA_MEMSET_NODE_PARAMS>(), context); });
    };
  }
  Action operator()(const HostOperation& host) const {
    return [host] {
      const HostFunctionScope may_not_call_the_driver;
      host.function(host.data);
      return Outcome::done();
    };
  }
  Action operator()(const CallbackOperation& callback) const {
    return [callback, context = operation->context] {
      const HostFunctionScope may_not_call_the_driver;
      callback.function(callback.stream, context->sticky(), callback.data);
      return Outcome::done();
    };
  }
  Action operator()(const MemoryOperation&) const {
    return [operation = operation, done = std::size_t{0}]() mutable {
      bool waiting = false;
      const CUresult code = advance(*operation->as<MemoryOperation>(), *operation->context, done, waiting);
      return waiting ? Outcome::not_yet() : concluded(*operation->context, code);
    };
  }
  template <class Other>
  Action operator()(const Other&) const {
    return {};
  }
};

struct TypeOf {
  CUgraphNodeType operator()(const EmptyOperation&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
  CUgraphNodeType operator()(const KernelOperation&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
  CUgraphNodeType operator()(const CopyOperation&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
  CUgraphNodeType operator()(const CUDA_MEMSET_NODE_PARAMS&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
  CUgraphNodeType operator()(const HostOperation&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const CallbackOperation&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const EventRecordOperation&) const { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
  CUgraphNodeType operator()(const EventWaitOperation&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
  CUgraphNodeType operator()(const ChildOperation&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
  CUgraphNodeType operator()(const MemoryOperation&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
};

}  // namespace

CUgraphNodeType type_of(const Operation& operation) {
  return std::visit(TypeOf{}, operation.what);
}

Order order_of(SharedOperation operation, Context& otherwise) {
  Context& context = operation->context != nullptr ? *operation->context : otherwise;
  Order order;
  order.cost_ns = std::visit(CostOf{context}, operation->what);
  order.submitted_ns = host_now_ns();
  order.on_host_thread = operation->as<HostOperation>() != nullptr || operation->as<CallbackOperation>() != nullptr;
  order.after_failure = operation->as<CallbackOperation>() != nullptr;
  order.domain = streams_of(context).group().shared_domain();
  order.action = std::visit(ActionOf{operation}, operation->what);
  return order;
}

}  // namespace cupool::simgpu
