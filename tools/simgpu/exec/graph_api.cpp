// SPDX-License-Identifier: Apache-2.0
//
// Entry points: graphs: their life, their shape, and what is tied to them.
#include <cstdio>
#include <memory>

#include "tools/simgpu/exec/graph_forms.h"
#include "tools/simgpu/module/function.h"

using namespace cupool::simgpu;

namespace {

template <class Change>
CUresult change_edges(EntryId id, CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges,
                      std::size_t count, Change&& change) {
  return enter_graph(id, handle, [&](Graph& graph) -> CUresult {
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    CUresult code = check_edges(edges, count);
    if (code == CUDA_SUCCESS) code = read_nodes(from, count, sources);
    if (code == CUDA_SUCCESS) code = read_nodes(to, count, targets);
    for (std::size_t i = 0; code == CUDA_SUCCESS && i < count; ++i) code = change(graph, sources[i], targets[i]);
    return code;
  });
}

CUresult list_edges(EntryId id, CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges, std::size_t* count) {
  return enter_graph(id, handle, [&](Graph& graph) -> CUresult {
    if ((from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      for (GraphNode* dependency : node->dependencies) {
        sources.push_back(dependency);
        targets.push_back(node.get());
      }
    }
    std::size_t room = count != nullptr ? *count : 0;
    const CUresult code = write_nodes(sources, from, edges, count);
    return code == CUDA_SUCCESS ? write_nodes(targets, to, nullptr, &room) : code;
  });
}

const char* name_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "kernel";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "memcpy";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "memset";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "host";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "graph";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "empty";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "wait event";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "record event";
    default:
      return "other";
  }
}

void print_node(FILE* file, const GraphNode& node, std::size_t number) {
  const auto* kernel = node.operation->as<KernelOperation>();
  std::fprintf(file, "  node%zu [label=\"%zu: %s%s%s\"];\n", number, number, name_of(type_of(*node.operation)),
               kernel != nullptr ? " " : "", kernel != nullptr ? kernel->function->info().name.c_str() : "");
}

CUresult print_graph(const Graph& graph, const char* path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "we"), std::fclose);
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::map<const GraphNode*, std::size_t> numbers;
  std::fputs("digraph graph_0 {\n", file.get());
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    const std::size_t number = numbers.size();
    numbers[node.get()] = number;
    print_node(file.get(), *node, number);
  }
  for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
    for (const GraphNode* dependency : node->dependencies) {
      std::fprintf(file.get(), "  node%zu -> node%zu;\n", numbers[dependency], numbers[node.get()]);
    }
  }
  std::fputs("}\n", file.get());
  return CUDA_SUCCESS;
}

CUkernelNodeAttrValue attribute_of(const GraphNode& node, CUkernelNodeAttrID attribute) {
  const auto found = node.attributes.find(attribute);
  if (found != node.attributes.end()) return found->second;
  CUkernelNodeAttrValue value{};
  const auto* kernel = node.operation->as<KernelOperation>();
  if (attribute == CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE) value.cooperative = kernel->cooperative ? 1 : 0;
  return value;
}

CUresult retain_for_graph(Graph& graph, std::shared_ptr<UserObject> object, unsigned count, unsigned flags) {
  if (count == 0 || (flags & ~static_cast<unsigned>(CU_GRAPH_USER_OBJECT_MOVE)) != 0) return CUDA_ERROR_INVALID_VALUE;
  // MOVE: the caller's own references become the graph's.
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object->retain(count);
  graph.user_objects[std::move(object)] += count;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return enter(
      EntryId::cuGraphCreate, Needs::init,
      [&](Call&) -> CUresult {
        if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        *graph = handles<Graph>().add<CUgraph>(std::make_shared<Graph>());
        return CUDA_SUCCESS;
      },
      graph, flags);
}

CUresult cuGraphDestroy(CUgraph handle) {
  return enter_graph(EntryId::cuGraphDestroy, handle, [&](Graph& graph) -> CUresult {
    if (graph.is_child) return CUDA_ERROR_INVALID_VALUE;
    handles<Graph>().remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph handle) {
  return enter_graph(EntryId::cuGraphClone, handle, [&](Graph& graph) -> CUresult {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *clone = handles<Graph>().add<CUgraph>(graph.clone());
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  return enter_graph(EntryId::cuGraphNodeFindInClone, clone, [&](Graph& graph) -> CUresult {
    GraphNode* const found = graph.clone_of(node_of(original).get());
    if (node == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *node = found;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return enter_node(EntryId::cuGraphNodeGetType, handle, [&](GraphNode& node) -> CUresult {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = type_of(*node.operation);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return enter_graph(EntryId::cuGraphGetNodes, handle, [&](Graph& graph) {
    std::vector<GraphNode*> all;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) all.push_back(node.get());
    return write_nodes(all, nodes, nullptr, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return enter_graph(EntryId::cuGraphGetRootNodes, handle, [&](Graph& graph) {
    std::vector<GraphNode*> roots;
    for (const std::shared_ptr<GraphNode>& node : graph.nodes()) {
      if (node->dependencies.empty()) roots.push_back(node.get());
    }
    return write_nodes(roots, nodes, nullptr, count);
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return list_edges(EntryId::cuGraphGetEdges, graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges, size_t* count) {
  return list_edges(EntryId::cuGraphGetEdges_v2, graph, from, to, edges, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  return enter_node(EntryId::cuGraphNodeGetDependencies, handle,
                    [&](GraphNode& node) { return write_nodes(node.dependencies, nodes, nullptr, count); });
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges, size_t* count) {
  return enter_node(EntryId::cuGraphNodeGetDependencies_v2, handle,
                    [&](GraphNode& node) { return write_nodes(node.dependencies, nodes, edges, count); });
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  return enter_node(EntryId::cuGraphNodeGetDependentNodes, handle,
                    [&](GraphNode& node) { return write_nodes(node.dependents, nodes, nullptr, count); });
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges, size_t* count) {
  return enter_node(EntryId::cuGraphNodeGetDependentNodes_v2, handle,
                    [&](GraphNode& node) { return write_nodes(node.dependents, nodes, edges, count); });
}

namespace {
CUresult connect(Graph& graph, GraphNode* from, GraphNode* to) {
  return graph.connect(from, to);
}
CUresult disconnect(Graph& graph, GraphNode* from, GraphNode* to) {
  return graph.disconnect(from, to);
}
}  // namespace

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return change_edges(EntryId::cuGraphAddDependencies, graph, from, to, nullptr, count, connect);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges,
                                   size_t count) {
  return change_edges(EntryId::cuGraphAddDependencies_v2, graph, from, to, edges, count, connect);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return change_edges(EntryId::cuGraphRemoveDependencies, graph, from, to, nullptr, count, disconnect);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges,
                                      size_t count) {
  return change_edges(EntryId::cuGraphRemoveDependencies_v2, graph, from, to, edges, count, disconnect);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return enter_node(EntryId::cuGraphDestroyNode, handle, [](GraphNode& node) -> CUresult {
    node.graph->destroy(&node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int) {
  return enter_graph(EntryId::cuGraphDebugDotPrint, handle, [&](Graph& graph) -> CUresult {
    return path == nullptr ? CUDA_ERROR_INVALID_VALUE : print_graph(graph, path);
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue* value) {
  return enter_node(EntryId::cuGraphKernelNodeGetAttribute, handle, [&](GraphNode& node) -> CUresult {
    if (value == nullptr || attribute >= CU_LAUNCH_ATTRIBUTE_MAX || node.operation->as<KernelOperation>() == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    *value = attribute_of(node, attribute);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue* value) {
  return enter_node(EntryId::cuGraphKernelNodeSetAttribute, handle, [&](GraphNode& node) -> CUresult {
    if (value == nullptr || attribute >= CU_LAUNCH_ATTRIBUTE_MAX || node.operation->as<KernelOperation>() == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    node.attributes[attribute] = *value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode target, CUgraphNode source) {
  return enter_node(EntryId::cuGraphKernelNodeCopyAttributes, target, [&](GraphNode& node) -> CUresult {
    const std::shared_ptr<GraphNode> from = node_of(source);
    if (from == nullptr || from->operation->as<KernelOperation>() == nullptr || node.operation->as<KernelOperation>() == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    node.attributes = from->attributes;
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned int references, unsigned int flags) {
  return enter(
      EntryId::cuUserObjectCreate, Needs::init,
      [&](Call&) -> CUresult {
        if (object == nullptr || destroy == nullptr || references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
          return CUDA_ERROR_INVALID_VALUE;
        *object = handles<UserObject>().add<CUuserObject>(std::make_shared<UserObject>(pointer, destroy, references));
        return CUDA_SUCCESS;
      },
      object);
}

namespace {
template <class Body>
CUresult enter_object(EntryId id, CUuserObject handle, unsigned count, Body&& body) {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const std::shared_ptr<UserObject> object = handles<UserObject>().find(handle);
        return object == nullptr || count == 0 ? CUDA_ERROR_INVALID_VALUE : body(object);
      },
      handle, count);
}
}  // namespace

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  return enter_object(EntryId::cuUserObjectRetain, object, count, [&](const std::shared_ptr<UserObject>& found) -> CUresult {
    found->retain(count);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  return enter_object(EntryId::cuUserObjectRelease, object, count, [&](const std::shared_ptr<UserObject>& found) -> CUresult {
    found->release(count);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned int count, unsigned int flags) {
  return enter_object(EntryId::cuGraphRetainUserObject, object, count, [&](const std::shared_ptr<UserObject>& found) -> CUresult {
    const std::shared_ptr<Graph> graph = graph_of(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : retain_for_graph(*graph, found, count, flags);
  });
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned int count) {
  return enter_object(EntryId::cuGraphReleaseUserObject, object, count, [&](const std::shared_ptr<UserObject>& found) -> CUresult {
    const std::shared_ptr<Graph> graph = graph_of(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = graph->user_objects.find(found);
    if (held == graph->user_objects.end() || held->second < count) return CUDA_ERROR_INVALID_VALUE;
    held->second -= count;
    if (held->second == 0) graph->user_objects.erase(held);
    found->release(count);
    return CUDA_SUCCESS;
  });
}
