// SPDX-License-Identifier: Apache-2.0
//
// Entry points: nodes of graphs: adding them, asking for and changing what they do.
#include <cstring>

#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/graph_forms.h"
#include "tools/simgpu/exec/node_operation.h"

using namespace cupool::simgpu;

namespace {

/// What a node of this kind does, for a query or a change; `body` is called when the node is of that kind.
template <class What, class Body>
CUresult enter_node_of(EntryId id, CUgraphNode handle, const void* argument, Body&& body) {
  return enter_node(id, handle, [&](GraphNode& node) -> CUresult {
    const What* what = node.operation->as<What>();
    if (what == nullptr || argument == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return body(node, *what);
  });
}

template <class Make>
CUresult change(EntryId id, CUgraphNode handle, Make&& make) {
  return enter_node(id, handle, [&](GraphNode& node) -> CUresult {
    SharedOperation operation;
    const CUresult code = make(operation);
    return code == CUDA_SUCCESS ? replace_operation(node, std::move(operation)) : code;
  });
}

CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS_v1* parameters, SharedOperation& operation) {
  return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_node(widened(*parameters), operation);
}

CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS_v2* parameters, SharedOperation& operation) {
  return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : kernel_node(*parameters, operation);
}

CUresult make_host(const CUDA_HOST_NODE_PARAMS* parameters, SharedOperation& operation) {
  return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : host_node(parameters->fn, parameters->userData, operation);
}

CUresult add_any(EntryId id, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                 std::size_t count, CUgraphNodeParams* parameters) {
  return add_node(id, node, graph, dependencies, count, [&](SharedOperation& operation) -> CUresult {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult code = check_edges(edges, count);
    return code == CUDA_SUCCESS ? any_node(*parameters, operation) : code;
  });
}

}  // namespace

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return add_node(EntryId::cuGraphAddKernelNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return make_kernel(parameters, operation); });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return add_node(EntryId::cuGraphAddKernelNode_v2, node, graph, after, count,
                  [&](SharedOperation& operation) { return make_kernel(parameters, operation); });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMCPY3D* shape,
                              CUcontext context) {
  return add_node(EntryId::cuGraphAddMemcpyNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return copy_node(shape, context, operation); });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* set, CUcontext context) {
  return add_node(EntryId::cuGraphAddMemsetNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return set_node(set, context, operation); });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  return add_node(EntryId::cuGraphAddHostNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return make_host(parameters, operation); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUgraph child) {
  return add_node(EntryId::cuGraphAddChildGraphNode, node, graph, after, count, [&](SharedOperation& operation) -> CUresult {
    if (child == graph) return CUDA_ERROR_INVALID_VALUE;
    return child_node(child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, operation);
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  return add_any(EntryId::cuGraphAddEmptyNode, node, graph, after, nullptr, count, &parameters);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_node(EntryId::cuGraphAddEventRecordNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return event_record_node(event, operation); });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_node(EntryId::cuGraphAddEventWaitNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return event_wait_node(event, operation); });
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return add_node(EntryId::cuGraphAddBatchMemOpNode, node, graph, after, count,
                  [&](SharedOperation& operation) { return memory_node(parameters, operation); });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUgraphNodeParams* parameters) {
  return add_any(EntryId::cuGraphAddNode, node, graph, after, nullptr, count, parameters);
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t count,
                           CUgraphNodeParams* parameters) {
  return add_any(EntryId::cuGraphAddNode_v2, node, graph, after, edges, count, parameters);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return change(EntryId::cuGraphNodeSetParams, node, [&](SharedOperation& operation) -> CUresult {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : any_node(*parameters, operation);
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return enter_node_of<KernelOperation>(EntryId::cuGraphKernelNodeGetParams, handle, parameters,
                                        [&](GraphNode& node, const auto&) -> CUresult {
                                          const CUDA_KERNEL_NODE_PARAMS_v2 wide = kernel_parameters(node);
                                          std::memcpy(parameters, &wide, sizeof *parameters);
                                          return CUDA_SUCCESS;
                                        });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return enter_node_of<KernelOperation>(EntryId::cuGraphKernelNodeGetParams_v2, handle, parameters,
                                        [&](GraphNode& node, const auto&) -> CUresult {
                                          *parameters = kernel_parameters(node);
                                          return CUDA_SUCCESS;
                                        });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return change(EntryId::cuGraphKernelNodeSetParams, node,
                [&](SharedOperation& operation) { return make_kernel(parameters, operation); });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphKernelNodeSetParams_v2, node,
                [&](SharedOperation& operation) { return make_kernel(parameters, operation); });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* shape) {
  return enter_node_of<CopyOperation>(EntryId::cuGraphMemcpyNodeGetParams, handle, shape,
                                      [&](GraphNode&, const CopyOperation& copy) -> CUresult {
                                        *shape = copy.shape;
                                        return CUDA_SUCCESS;
                                      });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* shape) {
  return enter_node_of<CopyOperation>(EntryId::cuGraphMemcpyNodeSetParams, handle, shape,
                                      [&](GraphNode& node, const auto&) -> CUresult {
                                        SharedOperation operation;
                                        const CUresult code = copy_node(shape, node.operation->context->handle(), operation);
                                        return code == CUDA_SUCCESS ? replace_operation(node, std::move(operation)) : code;
                                      });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* set) {
  return enter_node_of<CUDA_MEMSET_NODE_PARAMS>(EntryId::cuGraphMemsetNodeGetParams, handle, set,
                                                [&](GraphNode&, const CUDA_MEMSET_NODE_PARAMS& what) -> CUresult {
                                                  *set = what;
                                                  return CUDA_SUCCESS;
                                                });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* set) {
  return enter_node_of<CUDA_MEMSET_NODE_PARAMS>(
      EntryId::cuGraphMemsetNodeSetParams, handle, set, [&](GraphNode& node, const auto&) -> CUresult {
        SharedOperation operation;
        const CUresult code = set_node(set, node.operation->context->handle(), operation);
        return code == CUDA_SUCCESS ? replace_operation(node, std::move(operation)) : code;
      });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* parameters) {
  return enter_node_of<HostOperation>(EntryId::cuGraphHostNodeGetParams, handle, parameters,
                                      [&](GraphNode&, const HostOperation& host) -> CUresult {
                                        *parameters = {host.function, host.data};
                                        return CUDA_SUCCESS;
                                      });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphHostNodeSetParams, node,
                [&](SharedOperation& operation) { return make_host(parameters, operation); });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* graph) {
  return enter_node_of<ChildOperation>(EntryId::cuGraphChildGraphNodeGetGraph, handle, graph,
                                       [&](GraphNode&, const ChildOperation& child) -> CUresult {
                                         *graph = child.graph.get();
                                         return CUDA_SUCCESS;
                                       });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent* event) {
  return enter_node_of<EventRecordOperation>(EntryId::cuGraphEventRecordNodeGetEvent, handle, event,
                                             [&](GraphNode&, const EventRecordOperation& what) -> CUresult {
                                               *event = what.event.get();
                                               return CUDA_SUCCESS;
                                             });
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return change(EntryId::cuGraphEventRecordNodeSetEvent, node,
                [&](SharedOperation& operation) { return event_record_node(event, operation); });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent* event) {
  return enter_node_of<EventWaitOperation>(EntryId::cuGraphEventWaitNodeGetEvent, handle, event,
                                           [&](GraphNode&, const EventWaitOperation& what) -> CUresult {
                                             *event = what.event.get();
                                             return CUDA_SUCCESS;
                                           });
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return change(EntryId::cuGraphEventWaitNodeSetEvent, node,
                [&](SharedOperation& operation) { return event_wait_node(event, operation); });
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return enter_node_of<MemoryOperation>(EntryId::cuGraphBatchMemOpNodeGetParams, handle, parameters,
                                        [&](GraphNode& node, const MemoryOperation& what) -> CUresult {
                                          parameters->ctx = node.operation->context->handle();
                                          parameters->count = static_cast<unsigned>(what.parts.size());
                                          parameters->paramArray = const_cast<CUstreamBatchMemOpParams*>(what.parts.data());
                                          parameters->flags = 0;
                                          return CUDA_SUCCESS;
                                        });
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return change(EntryId::cuGraphBatchMemOpNodeSetParams, node,
                [&](SharedOperation& operation) { return memory_node(parameters, operation); });
}
