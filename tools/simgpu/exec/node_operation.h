// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/graph.h"
#include "tools/simgpu/exec/operation.h"

namespace cupool::simgpu {

// From the parameter structures of graph nodes to operations and back. All check as the calls that do the same thing at once would.

/// The second and third forms name a kernel and a context too; the first is the second without them.
CUDA_KERNEL_NODE_PARAMS_v2 widened(const CUDA_KERNEL_NODE_PARAMS_v1& parameters);
CUresult kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, SharedOperation& operation);
/// `handle`: whose device copies; null: the current context's. CUDA_ERROR_INVALID_CONTEXT when there is none.
CUresult copy_node(const CUDA_MEMCPY3D* shape, CUcontext handle, SharedOperation& operation);
CUresult set_node(const CUDA_MEMSET_NODE_PARAMS* set, CUcontext handle, SharedOperation& operation);
CUresult host_node(CUhostFn function, void* data, SharedOperation& operation);
CUresult event_record_node(CUevent event, SharedOperation& operation);
CUresult event_wait_node(CUevent event, SharedOperation& operation);
/// The node holds a copy of the child, or the child itself when it is given away.
CUresult child_node(CUgraph child, CUgraphChildGraphNodeOwnership ownership, SharedOperation& operation);
CUresult memory_node(const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters, SharedOperation& operation);
/// Whichever of them the type says; CUDA_ERROR_NOT_SUPPORTED for allocation, semaphore and conditional nodes.
CUresult any_node(const CUgraphNodeParams& parameters, SharedOperation& operation);

/// A kernel node's parameters as a query reports them; the addresses belong to the node.
CUDA_KERNEL_NODE_PARAMS_v2 kernel_parameters(GraphNode& node);

}  // namespace cupool::simgpu
