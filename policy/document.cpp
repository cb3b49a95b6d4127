// SPDX-License-Identifier: Apache-2.0
#include "policy/document.h"

namespace cupool::policy {

const Node* Document::member(const Node& object, std::string_view key) const {
  for (const Node* child = first_child(object); child != nullptr; child = next(*child)) {
    if (child->key == key) return child;
  }
  return nullptr;
}

std::string Document::shown(const Node& node) const {
  return printable(text_.substr(node.where.begin, node.where.end - node.where.begin), 60);
}

std::string Document::pointer(const Node& node) const {
  std::string path;
  for (const Node* current = &node; current->parent != Node::kNone; current = &nodes_[current->parent]) {
    const bool in_object = nodes_[current->parent].kind == NodeKind::object;
    path.insert(0, '/' + (in_object ? pointer_token(current->key) : std::to_string(current->position)));
  }
  return path;
}

const Node& Document::find(std::string_view pointer) const {
  const Node* current = &root();
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    const Node* found = nullptr;
    for (const Node* child = first_child(*current); child != nullptr && found == nullptr; child = next(*child)) {
      const bool in_object = current->kind == NodeKind::object;
      if (token == (in_object ? pointer_token(child->key) : std::to_string(child->position))) found = child;
    }
    if (found == nullptr) break;
    current = found;
  }
  return *current;
}

Stretch Document::place_of(std::string_view pointer) const {
  const Node& node = find(pointer);
  if (node.kind != NodeKind::object && node.kind != NodeKind::array) return node.where;
  return node.key_where.end > 0 ? node.key_where : Stretch{node.where.begin, node.where.begin + 1};
}

}  // namespace cupool::policy
