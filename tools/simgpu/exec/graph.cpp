// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/graph.h"

#include <algorithm>
#include <set>

#include "tools/simgpu/exec/handle_table.h"

namespace cupool::simgpu {
namespace {

void erase_one(std::vector<GraphNode*>& nodes, const GraphNode* node) {
  const auto found = std::find(nodes.begin(), nodes.end(), node);
  if (found != nodes.end()) nodes.erase(found);
}

bool reaches(const GraphNode* from, const GraphNode* to) {
  std::vector<const GraphNode*> todo{from};
  std::set<const GraphNode*> seen;
  while (!todo.empty()) {
    const GraphNode* node = todo.back();
    todo.pop_back();
    if (node == to) return true;
    if (!seen.insert(node).second) continue;
    todo.insert(todo.end(), node->dependents.begin(), node->dependents.end());
  }
  return false;
}

}  // namespace

bool UserObject::release(unsigned count) {
  // Acquire-release: whoever destroys it sees what the other owners did with it.
  if (references_.fetch_sub(count, std::memory_order_acq_rel) != count) return false;
  const std::shared_ptr<UserObject> self = handles<UserObject>().remove(this);
  destroy_(pointer_);
  return true;
}

Graph::~Graph() {
  for (const std::shared_ptr<GraphNode>& node : nodes_) handles<GraphNode>().remove(node.get());
  for (const auto& [object, count] : user_objects) object->release(count);
}

CUresult Graph::add(SharedOperation operation, std::span<GraphNode* const> after, GraphNode*& node) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!has(after[i])) return CUDA_ERROR_INVALID_VALUE;
    if (std::find(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(i), after[i]) !=
        after.begin() + static_cast<std::ptrdiff_t>(i)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  auto made = std::make_shared<GraphNode>();
  made->graph = this;
  made->operation = std::move(operation);
  made->dependencies.assign(after.begin(), after.end());
  for (GraphNode* dependency : after) dependency->dependents.push_back(made.get());
  node = made.get();
  handles<GraphNode>().add<CUgraphNode>(made);
  nodes_.push_back(std::move(made));
  return CUDA_SUCCESS;
}

CUresult Graph::connect(GraphNode* from, GraphNode* to) {
  if (!has(from) || !has(to) || from == to) return CUDA_ERROR_INVALID_VALUE;
  if (std::find(to->dependencies.begin(), to->dependencies.end(), from) != to->dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
  if (reaches(to, from)) return CUDA_ERROR_INVALID_VALUE;
  to->dependencies.push_back(from);
  from->dependents.push_back(to);
  return CUDA_SUCCESS;
}

CUresult Graph::disconnect(GraphNode* from, GraphNode* to) {
  if (!has(from) || !has(to)) return CUDA_ERROR_INVALID_VALUE;
  if (std::find(to->dependencies.begin(), to->dependencies.end(), from) == to->dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
  erase_one(to->dependencies, from);
  erase_one(from->dependents, to);
  return CUDA_SUCCESS;
}

void Graph::destroy(GraphNode* node) {
  for (GraphNode* dependency : node->dependencies) erase_one(dependency->dependents, node);
  for (GraphNode* dependent : node->dependents) erase_one(dependent->dependencies, node);
  handles<GraphNode>().remove(node);
  std::erase_if(nodes_, [&](const std::shared_ptr<GraphNode>& other) { return other.get() == node; });
}

std::vector<GraphNode*> Graph::in_order() const {
  std::map<const GraphNode*, std::size_t> missing;
  std::vector<GraphNode*> order;
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    missing[node.get()] = node->dependencies.size();
    if (node->dependencies.empty()) order.push_back(node.get());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (GraphNode* dependent : order[i]->dependents) {
      if (--missing[dependent] == 0) order.push_back(dependent);
    }
  }
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> twins;
  for (GraphNode* node : in_order()) {
    std::vector<GraphNode*> after;
    for (const GraphNode* dependency : node->dependencies) after.push_back(twins[dependency]);
    SharedOperation operation = node->operation;
    if (const auto* child = operation->as<ChildOperation>()) {
      auto inner = child->graph->clone();
      inner->is_child = true;
      handles<Graph>().add<CUgraph>(inner);
      operation = std::make_shared<const Operation>(Operation{operation->context, ChildOperation{std::move(inner)}});
    }
    GraphNode* twin = nullptr;
    copy->add(std::move(operation), after, twin);
    twin->cloned_from = node;
    twin->attributes = node->attributes;
    twins[node] = twin;
  }
  // In the order of the original, which queries report.
  std::vector<std::shared_ptr<GraphNode>> ordered;
  for (const std::shared_ptr<GraphNode>& node : nodes_) {
    const auto twin =
        std::find_if(copy->nodes_.begin(), copy->nodes_.end(), [&](const auto& other) { return other->cloned_from == node.get(); });
    ordered.push_back(*twin);
  }
  copy->nodes_ = std::move(ordered);
  copy->user_objects = user_objects;
  for (const auto& [object, count] : copy->user_objects) object->retain(count);
  return copy;
}

GraphNode* Graph::clone_of(const GraphNode* original) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node->cloned_from == original; });
  return found == nodes_.end() ? nullptr : found->get();
}

std::shared_ptr<Graph> graph_of(CUgraph handle) {
  return handles<Graph>().find(handle);
}
std::shared_ptr<GraphNode> node_of(CUgraphNode handle) {
  return handles<GraphNode>().find(handle);
}

}  // namespace cupool::simgpu
