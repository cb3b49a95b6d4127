// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/operation.h"
#include "tools/simgpu/exec/stream.h"

struct CUgraph_st {};
struct CUgraphNode_st {};
struct CUgraphExec_st {};
struct CUuserObject_st {};

namespace cupool::simgpu {

class Stream;

/// Memory that a program ties to graphs: destroyed by its own function when nobody counts on it any more.
class UserObject : public CUuserObject_st {
 public:
  UserObject(void* pointer, CUhostFn destroy, unsigned references)
      : pointer_(pointer), destroy_(destroy), references_(references) {}
  void retain(unsigned count) { references_.fetch_add(count, std::memory_order_relaxed); }
  /// True when that was the last one; the object has been destroyed then.
  bool release(unsigned count);

 private:
  void* const pointer_;
  const CUhostFn destroy_;
  std::atomic<unsigned> references_;
};

/// One node. Belongs to its graph, whose edges it carries in both directions.
struct GraphNode : CUgraphNode_st {
  Graph* graph = nullptr;
  SharedOperation operation;
  std::vector<GraphNode*> dependencies;
  std::vector<GraphNode*> dependents;
  const GraphNode* cloned_from = nullptr;
  std::map<CUkernelNodeAttrID, CUkernelNodeAttrValue> attributes;
  /// The addresses that a query of a kernel node's parameters hands out; they last until the node changes.
  std::vector<void*> parameter_addresses;
};

/// A graph being built. As CUDA has it, not synchronised: one thread at a time.
class Graph : public CUgraph_st {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// CUDA_ERROR_INVALID_VALUE when a dependency is not a node of this graph, or is named twice.
  CUresult add(SharedOperation operation, std::span<GraphNode* const> after, GraphNode*& node);
  /// CUDA_ERROR_INVALID_VALUE for foreign nodes, an edge that exists already, or one that would close a circle.
  CUresult connect(GraphNode* from, GraphNode* to);
  /// CUDA_ERROR_INVALID_VALUE for an edge that does not exist.
  CUresult disconnect(GraphNode* from, GraphNode* to);
  void destroy(GraphNode* node);

  const std::vector<std::shared_ptr<GraphNode>>& nodes() const { return nodes_; }
  bool has(const GraphNode* node) const { return node != nullptr && node->graph == this; }
  /// Nodes such that each comes after all it depends on.
  std::vector<GraphNode*> in_order() const;
  std::shared_ptr<Graph> clone() const;
  GraphNode* clone_of(const GraphNode* original) const;

  std::map<std::shared_ptr<UserObject>, unsigned> user_objects;
  bool is_child = false;  ///< owned by a node: the program may not destroy it

 private:
  std::vector<std::shared_ptr<GraphNode>> nodes_;
};

/// A graph made ready to run: a copy, so that later changes to the graph do not touch it.
class GraphExec : public CUgraphExec_st {
 public:
  explicit GraphExec(std::uint64_t flags) : flags_(flags) {}
  ~GraphExec();

  /// CUDA_ERROR_INVALID_VALUE when a kernel's context is gone.
  CUresult build(const Graph& graph);
  CUresult launch(Stream& stream);

  /// Replaces what a node of the original graph does in later launches. CUDA_ERROR_INVALID_VALUE for a foreign node or another
  /// type.
  CUresult replace(const GraphNode* node, SharedOperation operation);
  CUresult replace_child(const GraphNode* node, const Graph& child);
  CUresult set_enabled(const GraphNode* node, bool enabled);
  CUresult is_enabled(const GraphNode* node, bool& enabled) const;
  SharedOperation operation_of(const GraphNode* node) const;
  /// cuGraphExecUpdate: takes over all operations of a graph of the same shape. CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE otherwise.
  CUresult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);

  /// What it runs as a graph of its own: a launch into a captured stream becomes a child node of that.
  std::shared_ptr<Graph> as_graph() const;

  std::uint64_t flags() const { return flags_; }

 private:
  struct Step {
    const GraphNode* node;
    CUgraphNodeType type;
    SharedOperation operation;
    std::vector<std::size_t> after;
    bool enabled = true;
  };
  /// Appends a graph's steps; `entry` is what its roots come after. Returns the places of its leaves.
  std::vector<std::size_t> append(const Graph& graph, const std::vector<std::size_t>& entry);
  std::map<const GraphNode*, std::size_t>::const_iterator place(const GraphNode* node) const { return places_.find(node); }
  static bool check_update(const GraphExec& next, const GraphExec& now, CUgraphExecUpdateResultInfo& info);

  const std::uint64_t flags_;
  mutable std::mutex mutex_;  // launches and updates may come from several threads
  std::vector<Step> steps_;
  std::map<const GraphNode*, std::size_t> places_;
  std::vector<std::shared_ptr<Graph>> children_;  // child graphs stay alive while they are keys of places_
  std::map<std::shared_ptr<UserObject>, unsigned> user_objects_;
  Fence last_launch_;
};

/// The object behind a handle, or null.
std::shared_ptr<Graph> graph_of(CUgraph handle);
std::shared_ptr<GraphNode> node_of(CUgraphNode handle);

}  // namespace cupool::simgpu
