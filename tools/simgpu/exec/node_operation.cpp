// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/node_operation.h"

#include <cstring>
#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/copy_issue.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/memory_operation.h"
#include "tools/simgpu/module/module_table.h"

namespace cupool::simgpu {
namespace {

SharedOperation without_context(decltype(Operation::what) what) {
  return std::make_shared<const Operation>(Operation{nullptr, std::move(what)});
}

Context* context_or_current(CUcontext handle) {
  if (handle == nullptr) return current_context();
  return Context::from_handle(handle).get();
}

template <class What>
CUresult event_node(CUevent handle, SharedOperation& operation) {
  std::shared_ptr<Event> event = handles<Event>().find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  operation = without_context(What{std::move(event)});
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_KERNEL_NODE_PARAMS_v2 widened(const CUDA_KERNEL_NODE_PARAMS_v1& parameters) {
  CUDA_KERNEL_NODE_PARAMS_v2 wide{};
  static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kern) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
  std::memcpy(&wide, &parameters, sizeof parameters);
  return wide;
}

CUresult kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, SharedOperation& operation) {
  std::shared_ptr<Function> function;
  if (parameters.func != nullptr) {
    function = handles<Function>().find(parameters.func);
  }
  if (function == nullptr) {
    Context* const context = context_or_current(parameters.ctx);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const void* const kernel = parameters.kern != nullptr ? static_cast<const void*>(parameters.kern) : parameters.func;
    function = function_of(static_cast<CUfunction>(const_cast<void*>(kernel)), *context);
  }
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const LaunchRequest request{{parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
                              {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
                              parameters.sharedMemBytes,
                              false,
                              parameters.kernelParams,
                              parameters.extra};
  KernelOperation kernel;
  const CUresult prepared = prepare_launch(function, request, kernel);
  if (prepared == CUDA_SUCCESS) operation = make_operation(function->context(), std::move(kernel));
  return prepared;
}

CUresult copy_node(const CUDA_MEMCPY3D* shape, CUcontext handle, SharedOperation& operation) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = context_or_current(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  CopyOperation copy;
  copy.shape = *shape;
  const CUresult code = job_of(*shape, *context, copy.job);
  if (code == CUDA_SUCCESS) operation = make_operation(*context, std::move(copy));
  return code;
}

CUresult set_node(const CUDA_MEMSET_NODE_PARAMS* set, CUcontext handle, SharedOperation& operation) {
  if (set == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = context_or_current(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult code = check_set(*set);
  if (code == CUDA_SUCCESS) operation = make_operation(*context, *set);
  return code;
}

CUresult host_node(CUhostFn function, void* data, SharedOperation& operation) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  operation = without_context(HostOperation{function, data});
  return CUDA_SUCCESS;
}

CUresult event_record_node(CUevent event, SharedOperation& operation) {
  return event_node<EventRecordOperation>(event, operation);
}
CUresult event_wait_node(CUevent event, SharedOperation& operation) {
  return event_node<EventWaitOperation>(event, operation);
}

CUresult child_node(CUgraph handle, CUgraphChildGraphNodeOwnership ownership, SharedOperation& operation) {
  std::shared_ptr<Graph> graph = graph_of(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (graph->is_child) return CUDA_ERROR_INVALID_VALUE;
  } else {
    graph = graph->clone();
    handles<Graph>().add<CUgraph>(graph);
  }
  graph->is_child = true;
  operation = without_context(ChildOperation{std::move(graph)});
  return CUDA_SUCCESS;
}

CUresult memory_node(const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters, SharedOperation& operation) {
  if (parameters == nullptr || parameters->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = context_or_current(parameters->ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult code = check_memory_operations(parameters->paramArray, parameters->count);
  if (code != CUDA_SUCCESS) return code;
  operation = make_operation(*context, MemoryOperation{{parameters->paramArray, parameters->paramArray + parameters->count}});
  return CUDA_SUCCESS;
}

CUresult any_node(const CUgraphNodeParams& parameters, SharedOperation& operation) {
  switch (parameters.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
      static_assert(sizeof kernel == sizeof parameters.kernel);
      std::memcpy(&kernel, &parameters.kernel, sizeof kernel);
      return kernel_node(kernel, operation);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return copy_node(&parameters.memcpy.copyParams, parameters.memcpy.copyCtx, operation);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS set{};
      std::memcpy(&set, &parameters.memset, sizeof set);
      return set_node(&set, parameters.memset.ctx, operation);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return host_node(parameters.host.fn, parameters.host.userData, operation);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return child_node(parameters.graph.graph, parameters.graph.ownership, operation);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      operation = without_context(EmptyOperation{});
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return event_wait_node(parameters.eventWait.event, operation);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return event_record_node(parameters.eventRecord.event, operation);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS narrow{parameters.memOp.ctx, parameters.memOp.count, parameters.memOp.paramArray,
                                                 parameters.memOp.flags};
      return memory_node(&narrow, operation);
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUDA_KERNEL_NODE_PARAMS_v2 kernel_parameters(GraphNode& node) {
  const auto& kernel = *node.operation->as<KernelOperation>();
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  parameters.func = kernel.function.get();
  parameters.gridDimX = kernel.grid[0];
  parameters.gridDimY = kernel.grid[1];
  parameters.gridDimZ = kernel.grid[2];
  parameters.blockDimX = kernel.block[0];
  parameters.blockDimY = kernel.block[1];
  parameters.blockDimZ = kernel.block[2];
  parameters.sharedMemBytes = kernel.shared_bytes;
  parameters.ctx = node.operation->context->handle();
  node.parameter_addresses.clear();
  for (const ptx::Parameter& parameter : kernel.function->info().parameters) {
    node.parameter_addresses.push_back(const_cast<std::byte*>(kernel.parameters.data()) + parameter.offset);
  }
  if (!node.parameter_addresses.empty()) parameters.kernelParams = node.parameter_addresses.data();
  return parameters;
}

}  // namespace cupool::simgpu
