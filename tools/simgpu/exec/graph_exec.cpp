// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/capture.h"
#include "tools/simgpu/exec/engine.h"
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/graph.h"
#include "tools/simgpu/exec/stream_object.h"

namespace cupool::simgpu {

GraphExec::~GraphExec() {
  for (const auto& [object, count] : user_objects_) object->release(count);
}

CUresult GraphExec::build(const Graph& graph) {
  append(graph, {});
  user_objects_ = graph.user_objects;
  for (const auto& [object, count] : user_objects_) object->retain(count);
  return CUDA_SUCCESS;
}

std::vector<std::size_t> GraphExec::append(const Graph& graph, const std::vector<std::size_t>& entry) {
  std::vector<std::size_t> leaves;
  for (const GraphNode* node : graph.in_order()) {
    std::vector<std::size_t> after;
    for (const GraphNode* dependency : node->dependencies) after.push_back(places_.at(dependency));
    if (node->dependencies.empty()) after = entry;
    if (const auto* child = node->operation->as<ChildOperation>()) {
      children_.push_back(child->graph);
      std::vector<std::size_t> inner = append(*child->graph, after);
      // An empty child graph still orders what is around it.
      after.insert(after.end(), inner.begin(), inner.end());
    }
    places_[node] = steps_.size();
    if (node->dependents.empty()) leaves.push_back(steps_.size());
    steps_.push_back({node, type_of(*node->operation), node->operation, std::move(after)});
  }
  return leaves;
}

CUresult GraphExec::launch(Stream& stream) {
  std::vector<StreamGroup::Piece> pieces;
  const std::lock_guard lock(mutex_);
  pieces.reserve(steps_.size());
  for (const Step& step : steps_) {
    StreamGroup::Piece piece;
    piece.after = step.after;
    if (step.enabled) {
      if (step.operation->context != nullptr && step.operation->context->execution == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
      if (const auto* record = step.operation->as<EventRecordOperation>()) piece.records = record->event->slot();
      if (const auto* wait = step.operation->as<EventWaitOperation>()) piece.waits_for = wait->event->slot();
      piece.order = order_of(step.operation, stream.context());
      piece.order.priority = stream.priority();
    }
    pieces.push_back(std::move(piece));
  }
  // Launches of one executable graph never overlap, whatever streams they are in.
  last_launch_ = streams_of(stream.context())
                     .group()
                     .submit_graph(stream.queue(), std::move(pieces), host_now_ns(), std::span(&last_launch_, 1));
  return CUDA_SUCCESS;
}

CUresult GraphExec::replace(const GraphNode* node, SharedOperation operation) {
  const std::lock_guard lock(mutex_);
  const auto found = place(node);
  if (found == places_.end()) return CUDA_ERROR_INVALID_VALUE;
  Step& step = steps_[found->second];
  if (step.type != type_of(*operation)) return CUDA_ERROR_INVALID_VALUE;
  step.operation = std::move(operation);
  return CUDA_SUCCESS;
}

CUresult GraphExec::replace_child(const GraphNode* node, const Graph& child) {
  const std::lock_guard lock(mutex_);
  const auto found = place(node);
  if (found == places_.end() || steps_[found->second].type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  const Graph& now = *steps_[found->second].operation->as<ChildOperation>()->graph;
  const std::vector<GraphNode*> old_nodes = now.in_order();
  const std::vector<GraphNode*> new_nodes = child.in_order();
  if (old_nodes.size() != new_nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < old_nodes.size(); ++i) {
    if (type_of(*old_nodes[i]->operation) != type_of(*new_nodes[i]->operation)) return CUDA_ERROR_INVALID_VALUE;
    if (old_nodes[i]->dependencies.size() != new_nodes[i]->dependencies.size()) return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < old_nodes.size(); ++i) steps_[places_.at(old_nodes[i])].operation = new_nodes[i]->operation;
  return CUDA_SUCCESS;
}

CUresult GraphExec::set_enabled(const GraphNode* node, bool enabled) {
  const std::lock_guard lock(mutex_);
  const auto found = place(node);
  if (found == places_.end()) return CUDA_ERROR_INVALID_VALUE;
  Step& step = steps_[found->second];
  // As the driver has it: only these can be switched off.
  if (step.type != CU_GRAPH_NODE_TYPE_KERNEL && step.type != CU_GRAPH_NODE_TYPE_MEMSET && step.type != CU_GRAPH_NODE_TYPE_MEMCPY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  step.enabled = enabled;
  return CUDA_SUCCESS;
}

CUresult GraphExec::is_enabled(const GraphNode* node, bool& enabled) const {
  const std::lock_guard lock(mutex_);
  const auto found = place(node);
  if (found == places_.end()) return CUDA_ERROR_INVALID_VALUE;
  enabled = steps_[found->second].enabled;
  return CUDA_SUCCESS;
}

SharedOperation GraphExec::operation_of(const GraphNode* node) const {
  const std::lock_guard lock(mutex_);
  const auto found = place(node);
  return found == places_.end() ? nullptr : steps_[found->second].operation;
}

std::shared_ptr<Graph> GraphExec::as_graph() const {
  auto graph = std::make_shared<Graph>();
  const std::lock_guard lock(mutex_);
  std::vector<GraphNode*> nodes;
  for (const Step& step : steps_) {
    std::vector<GraphNode*> after;
    for (const std::size_t place : step.after) after.push_back(nodes[place]);
    const bool is_order_alone = !step.enabled || step.type == CU_GRAPH_NODE_TYPE_GRAPH;
    GraphNode* node = nullptr;
    graph->add(is_order_alone ? std::make_shared<const Operation>() : step.operation, after, node);
    nodes.push_back(node);
  }
  return graph;
}

CUresult GraphExec::update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
  GraphExec next(flags_);
  next.append(graph, {});
  const std::lock_guard lock(mutex_);
  if (!check_update(next, *this, info)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].operation = next.steps_[i].operation;
    // The nodes of the updating graph name the same steps from now on, beside those of the first one.
    places_[next.steps_[i].node] = i;
  }
  children_.insert(children_.end(), next.children_.begin(), next.children_.end());
  return CUDA_SUCCESS;
}

bool GraphExec::check_update(const GraphExec& next, const GraphExec& now, CUgraphExecUpdateResultInfo& info) {
  if (next.steps_.size() != now.steps_.size()) {
    info.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return false;
  }
  for (std::size_t i = 0; i < next.steps_.size(); ++i) {
    const Step& wanted = next.steps_[i];
    const Step& present = now.steps_[i];
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (wanted.type != present.type) {
      result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    } else if (wanted.after != present.after) {
      result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    } else if (wanted.operation->context != present.operation->context) {
      result = CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    }
    if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS) continue;
    info.result = result;
    info.errorNode = const_cast<GraphNode*>(wanted.node);
    return false;
  }
  return true;
}

}  // namespace cupool::simgpu
