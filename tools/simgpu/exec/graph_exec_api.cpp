// SPDX-License-Identifier: Apache-2.0
//
// Entry points: executable graphs.
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/graph_forms.h"
#include "tools/simgpu/exec/node_operation.h"

using namespace cupool::simgpu;

namespace {

constexpr std::uint64_t kInstantiateFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                            CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                            CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(Graph& graph, CUgraphExec* out, std::uint64_t flags) {
  if (out == nullptr || (flags & ~kInstantiateFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_shared<GraphExec>(flags);
  const CUresult code = exec->build(graph);
  if (code == CUDA_SUCCESS) *out = handles<GraphExec>().add<CUgraphExec>(exec);
  return code;
}

CUresult instantiate_with_log(EntryId id, CUgraphExec* out, CUgraph handle, CUgraphNode* failed, char* log, std::size_t room) {
  return enter_graph(id, handle, [&](Graph& graph) -> CUresult {
    if (failed != nullptr) *failed = nullptr;
    if (log != nullptr && room > 0) *log = 0;
    return instantiate(graph, out, 0);
  });
}

CUresult instantiate_with_params(EntryId id, CUgraphExec* out, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return enter_graph(id, handle, [&](Graph& graph) -> CUresult {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult code = instantiate(graph, out, parameters->flags);
    parameters->hErrNode_out = nullptr;
    parameters->result_out = code == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return code;
  });
}

// A launch into a captured stream is recorded as a child graph.
CUresult launch_or_capture(Stream& stream, GraphExec& exec) {
  if (is_any_capture_open()) {
    auto graph = exec.as_graph();
    graph->is_child = true;
    const CaptureGate gate = pass_capture(stream, std::make_shared<const Operation>(Operation{nullptr, ChildOperation{graph}}));
    if (gate.is_taken) {
      if (gate.code == CUDA_SUCCESS) handles<Graph>().add<CUgraph>(graph);
      return gate.code;
    }
  }
  return exec.launch(stream);
}

template <EntryId id, StreamMode mode>
CUresult launch(CUgraphExec handle, CUstream stream_handle) {
  return enter_stream(
      id, Needs::context, mode, stream_handle,
      [&](Call&, Stream& stream) -> CUresult {
        const std::shared_ptr<GraphExec> exec = handles<GraphExec>().find(handle);
        return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : launch_or_capture(stream, *exec);
      },
      handle);
}

// There is nothing to bring to the device beforehand.
template <EntryId id, StreamMode mode>
CUresult upload(CUgraphExec handle, CUstream stream_handle) {
  return enter_stream(
      id, Needs::context, mode, stream_handle,
      [&](Call&, Stream&) -> CUresult {
        return handles<GraphExec>().find(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
      },
      handle);
}

template <class Make>
CUresult change(EntryId id, CUgraphExec handle, CUgraphNode node, Make&& make) {
  return enter_exec(id, handle, [&](GraphExec& exec) -> CUresult {
    // The node may be gone with its graph: as a key it still names the step.
    const auto* key = static_cast<const GraphNode*>(node);
    const SharedOperation present = exec.operation_of(key);
    if (present == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SharedOperation operation;
    const CUresult code = make(*present, operation);
    return code == CUDA_SUCCESS ? exec.replace(key, std::move(operation)) : code;
  });
}

// Where no context is given, the node stays in the one it was made for.
CUcontext context_for(CUcontext given, const Operation& present) {
  return given != nullptr || present.context == nullptr ? given : present.context->handle();
}

}  // namespace

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log, size_t room) {
  return instantiate_with_log(EntryId::cuGraphInstantiate, exec, graph, failed, log, room);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* failed, char* log, size_t room) {
  return instantiate_with_log(EntryId::cuGraphInstantiate_v2, exec, graph, failed, log, room);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
  return enter_graph(EntryId::cuGraphInstantiateWithFlags, handle, [&](Graph& graph) { return instantiate(graph, exec, flags); });
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return instantiate_with_params(EntryId::cuGraphInstantiateWithParams, exec, graph, parameters);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return instantiate_with_params(EntryId::cuGraphInstantiateWithParams_ptsz, exec, graph, parameters);
}

SIMGPU_FORMS(cuGraphLaunch, cuGraphLaunch_ptsz, launch, (CUgraphExec exec, CUstream stream), (exec, stream))
SIMGPU_FORMS(cuGraphUpload, cuGraphUpload_ptsz, upload, (CUgraphExec exec, CUstream stream), (exec, stream))

// What was launched runs to its end: it holds all it needs.
CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return enter_exec(EntryId::cuGraphExecDestroy, handle, [&](GraphExec&) -> CUresult {
    handles<GraphExec>().remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return enter_exec(EntryId::cuGraphExecGetFlags, handle, [&](GraphExec& exec) -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec.flags();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return change(EntryId::cuGraphExecKernelNodeSetParams, exec, node, [&](const Operation&, SharedOperation& operation) -> CUresult {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_node(widened(*parameters), operation);
  });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphExecKernelNodeSetParams_v2, exec, node,
                [&](const Operation&, SharedOperation& operation) -> CUresult {
                  return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_node(*parameters, operation);
                });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* shape, CUcontext context) {
  return change(EntryId::cuGraphExecMemcpyNodeSetParams, exec, node, [&](const Operation& present, SharedOperation& operation) {
    return copy_node(shape, context_for(context, present), operation);
  });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* set, CUcontext context) {
  return change(EntryId::cuGraphExecMemsetNodeSetParams, exec, node, [&](const Operation& present, SharedOperation& operation) {
    return set_node(set, context_for(context, present), operation);
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphExecHostNodeSetParams, exec, node, [&](const Operation&, SharedOperation& operation) -> CUresult {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : host_node(parameters->fn, parameters->userData, operation);
  });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return change(EntryId::cuGraphExecEventRecordNodeSetEvent, exec, node,
                [&](const Operation&, SharedOperation& operation) { return event_record_node(event, operation); });
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return change(EntryId::cuGraphExecEventWaitNodeSetEvent, exec, node,
                [&](const Operation&, SharedOperation& operation) { return event_wait_node(event, operation); });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphExecBatchMemOpNodeSetParams, exec, node,
                [&](const Operation&, SharedOperation& operation) { return memory_node(parameters, operation); });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node, CUgraph child) {
  return enter_exec(EntryId::cuGraphExecChildGraphNodeSetParams, handle, [&](GraphExec& exec) -> CUresult {
    const std::shared_ptr<Graph> graph = graph_of(child);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : exec.replace_child(static_cast<const GraphNode*>(node), *graph);
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  return change(EntryId::cuGraphExecNodeSetParams, exec, node, [&](const Operation&, SharedOperation& operation) -> CUresult {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : any_node(*parameters, operation);
  });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int enabled) {
  return enter_exec(EntryId::cuGraphNodeSetEnabled, handle,
                    [&](GraphExec& exec) { return exec.set_enabled(static_cast<const GraphNode*>(node), enabled != 0); });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int* enabled) {
  return enter_exec(EntryId::cuGraphNodeGetEnabled, handle, [&](GraphExec& exec) -> CUresult {
    if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    bool value = false;
    const CUresult code = exec.is_enabled(static_cast<const GraphNode*>(node), value);
    if (code == CUDA_SUCCESS) *enabled = value ? 1 : 0;
    return code;
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph with, CUgraphExecUpdateResultInfo* info) {
  return enter_exec(EntryId::cuGraphExecUpdate_v2, handle, [&](GraphExec& exec) -> CUresult {
    const std::shared_ptr<Graph> graph = graph_of(with);
    if (graph == nullptr || info == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return exec.update(*graph, *info);
  });
}

CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph with, CUgraphNode* failed, CUgraphExecUpdateResult* result) {
  return enter_exec(EntryId::cuGraphExecUpdate, handle, [&](GraphExec& exec) -> CUresult {
    const std::shared_ptr<Graph> graph = graph_of(with);
    if (graph == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResultInfo info{};
    const CUresult code = exec.update(*graph, info);
    *result = info.result;
    if (failed != nullptr) *failed = info.errorNode;
    return code;
  });
}
