// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/graph_forms.h"

#include <algorithm>

namespace cupool::simgpu {

CUresult read_nodes(const CUgraphNode* given, std::size_t count, std::vector<GraphNode*>& nodes) {
  if (count > 0 && given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const std::shared_ptr<GraphNode> node = node_of(given[i]);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    nodes.push_back(node.get());
  }
  return CUDA_SUCCESS;
}

CUresult check_edges(const CUgraphEdgeData* edges, std::size_t count) {
  if (edges == nullptr) return CUDA_SUCCESS;
  const bool plain = std::all_of(edges, edges + count, [](const CUgraphEdgeData& edge) {
    return edge.from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT && edge.to_port == 0 &&
           edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
  });
  return plain ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult write_nodes(std::span<GraphNode* const> nodes, CUgraphNode* out, CUgraphEdgeData* edges, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out == nullptr) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    out[i] = i < nodes.size() ? nodes[i] : nullptr;
    if (edges != nullptr) edges[i] = {};
  }
  *count = std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

CUresult replace_operation(GraphNode& node, SharedOperation operation) {
  if (type_of(*operation) != type_of(*node.operation)) return CUDA_ERROR_INVALID_VALUE;
  node.operation = std::move(operation);
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
