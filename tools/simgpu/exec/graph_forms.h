// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/exec/graph.h"
#include "tools/simgpu/exec/handle_table.h"

namespace cupool::simgpu {

/// The frames of calls on graphs, nodes and executable graphs. A stale handle answers CUDA_ERROR_INVALID_VALUE, as graph calls do.
template <class Body>
CUresult enter_graph(EntryId id, CUgraph handle, Body&& body) noexcept {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const std::shared_ptr<Graph> graph = graph_of(handle);
        return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*graph);
      },
      handle);
}

template <class Body>
CUresult enter_node(EntryId id, CUgraphNode handle, Body&& body) noexcept {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const std::shared_ptr<GraphNode> node = node_of(handle);
        return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*node);
      },
      handle);
}

template <class Body>
CUresult enter_exec(EntryId id, CUgraphExec handle, Body&& body) noexcept {
  return enter(
      id, Needs::init,
      [&](Call&) -> CUresult {
        const std::shared_ptr<GraphExec> exec = handles<GraphExec>().find(handle);
        return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*exec);
      },
      handle);
}

/// A list of nodes that a program gives. CUDA_ERROR_INVALID_VALUE when one of them is no node.
CUresult read_nodes(const CUgraphNode* given, std::size_t count, std::vector<GraphNode*>& nodes);

/// Only edges without ports and of the default type are simulated.
CUresult check_edges(const CUgraphEdgeData* edges, std::size_t count);

/// Reports a list as the queries do: without an array its length, else as much as fits, the rest of the array null.
CUresult write_nodes(std::span<GraphNode* const> nodes, CUgraphNode* out, CUgraphEdgeData* edges, std::size_t* count);

/// Adds a node to a graph once `make(operation)` has made what it does.
template <class Make>
CUresult add_node(EntryId id, CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
                  Make&& make) noexcept {
  return enter_graph(id, handle, [&](Graph& graph) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> after;
    SharedOperation operation;
    CUresult code = read_nodes(dependencies, count, after);
    if (code == CUDA_SUCCESS) code = make(operation);
    GraphNode* node = nullptr;
    if (code == CUDA_SUCCESS) code = graph.add(std::move(operation), after, node);
    if (code == CUDA_SUCCESS) *out = node;
    return code;
  });
}

/// Replaces what a node does, by something of the same type.
CUresult replace_operation(GraphNode& node, SharedOperation operation);

}  // namespace cupool::simgpu
