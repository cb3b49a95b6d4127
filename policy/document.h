// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/problem.h"

namespace cupool::policy {

enum class NodeKind : std::uint8_t { null, boolean, integer, number, string, array, object };

/// One value of a JSON document, with where it stands.
struct Node {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  NodeKind kind = NodeKind::null;
  bool boolean = false;
  std::uint64_t integer = 0;  ///< when kind is integer: 0..2^64-1 (negative numbers are of kind number)
  double number = 0;          ///< when kind is integer or number
  std::string text;           ///< when kind is string: decoded
  std::string key;            ///< its name in the object around it: decoded
  Stretch where;
  Stretch key_where;  ///< with the quotes; empty in arrays and for the root
  std::uint32_t parent = kNone;
  std::uint32_t first_child = kNone;
  std::uint32_t next = kNone;
  std::uint32_t position = 0;  ///< among its siblings
  std::uint32_t children = 0;
};

/// A parsed document: a flat table of nodes, so that neither walking nor destroying it needs stack. Owns nothing but the nodes; the
/// text belongs to the caller and must outlive it.
class Document {
 public:
  Document() = default;
  Document(std::string_view text, std::vector<Node> nodes) : text_(text), nodes_(std::move(nodes)) {}

  std::string_view text() const { return text_; }
  const Node& root() const { return nodes_.front(); }
  const Node* first_child(const Node& node) const { return at(node.first_child); }
  const Node* next(const Node& node) const { return at(node.next); }
  /// The member of an object by its name, or null.
  const Node* member(const Node& object, std::string_view key) const;

  /// As written, cut after 60 characters and safe to print.
  std::string shown(const Node& node) const;
  /// RFC 6901; empty for the root.
  std::string pointer(const Node& node) const;
  /// The node that a pointer names; when it has no such node, the nearest one around it.
  const Node& find(std::string_view pointer) const;
  /// What a message about a pointer should show: a single value itself, of an object or list its name, of the root the first byte.
  Stretch place_of(std::string_view pointer) const;

 private:
  const Node* at(std::uint32_t index) const { return index == Node::kNone ? nullptr : &nodes_[index]; }

  std::string_view text_;
  std::vector<Node> nodes_;
};

}  // namespace cupool::policy
