// SPDX-License-Identifier: Apache-2.0
#include "policy/parse.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/syntax_fault.h"
#include "policy/utf8.h"

namespace cupool::policy {
namespace {

using Json = nlohmann::json;

/// Walks the text in step with the reader's events, because those carry no positions. Only called on text that the reader has
/// already accepted up to the end of the token.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  Stretch next_token() {
    skip_between();
    const std::size_t begin = at_;
    const char first = text_[at_++];
    if (first == '"') {
      while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      ++at_;
    } else if (first != '{' && first != '}' && first != '[' && first != ']') {
      while (at_ < text_.size() && is_in_literal(text_[at_])) ++at_;
    }
    return {begin, at_};
  }

 private:
  static bool is_in_literal(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '.' || c == '+' || c == '-';
  }

  /// Blanks, comments and the separators, which bring no event.
  void skip_between() {
    for (;; ++at_) {
      const char c = text_[at_];
      if (c == '/' && text_[at_ + 1] == '*') {
        at_ = text_.find("*/", at_ + 2) + 1;
      } else if (c == '/') {
        at_ = text_.find_first_of("\r\n", at_);
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ',' && c != ':') {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Builds the node table from the reader's events. A method that returns false ends the reading.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, Problems& problems) : text_(text), problems_(problems), cursor_(text) {}

  std::vector<Node> take_nodes() { return std::move(nodes_); }

  bool null() override { return leaf(NodeKind::null) != nullptr; }
  bool boolean(bool value) override {
    Node* node = leaf(NodeKind::boolean);
    if (node != nullptr) node->boolean = value;
    return node != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    // Only numbers with a sign come here. A minus is an offence wherever a policy takes an integer, so the sign is all that counts.
    return number(value == 0 ? -0.0 : static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    Node* node = leaf(NodeKind::integer);
    if (node == nullptr) return false;
    node->integer = value;
    node->number = static_cast<double>(value);
    return true;
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    Node* node = leaf(NodeKind::string);
    if (node == nullptr) return false;
    node->text = std::move(value);
    return check_string(node->text, node->where);
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    key_where_ = cursor_.next_token();
    key_ = std::move(value);
    return check_string(key_, key_where_);
  }
  bool start_object(std::size_t) override { return open(NodeKind::object); }
  bool start_array(std::size_t) override { return open(NodeKind::array); }
  bool end_object() override {
    report_duplicates(open_.back().node);
    return close();
  }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The reader counts the bytes that it has taken; the last one is where it stopped. At the end it counts one that is not there.
    const std::size_t offset = position == 0 ? 0 : position - 1;
    if (error.id == kNumberOutOfRange) {
      const Stretch where = cursor_.next_token();
      add(where, printable(text_.substr(where.begin, where.end - where.begin), 60) + " is too large for a number");
      return false;
    }
    SyntaxFault fault = explain_syntax(text_, offset, error.what());
    add(fault.where, std::move(fault.text));
    return false;
  }

 private:
  static constexpr int kNumberOutOfRange = 406;

  struct Open {
    std::uint32_t node;
    std::uint32_t last_child = Node::kNone;
  };

  void add(Stretch where, std::string text) { problems_.add(Severity::error, where, {}, std::move(text)); }

  Node* leaf(NodeKind kind) {
    const Stretch where = cursor_.next_token();
    if (nodes_.size() == kMostValues) {
      add(where, "more than " + std::to_string(kMostValues) + " values; shorten the document");
      return nullptr;
    }
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.kind = kind;
    node.where = where;
    node.key = std::move(key_);
    key_.clear();
    node.key_where = std::exchange(key_where_, {});
    if (open_.empty()) return &node;
    Open& around = open_.back();
    node.parent = around.node;
    node.position = nodes_[around.node].children++;
    (around.last_child == Node::kNone ? nodes_[around.node].first_child : nodes_[around.last_child].next) = index;
    around.last_child = index;
    return &node;
  }

  bool number(double value) {
    Node* node = leaf(NodeKind::number);
    if (node != nullptr) node->number = value;
    return node != nullptr;
  }

  bool open(NodeKind kind) {
    const Node* node = leaf(kind);
    if (node == nullptr) return false;
    if (open_.size() == kMostDepth) {
      add(node->where, "nested more than " + std::to_string(kMostDepth) + " deep; a policy needs 6 levels at most");
      return false;
    }
    open_.push_back({static_cast<std::uint32_t>(nodes_.size() - 1)});
    return true;
  }

  bool close() {
    nodes_[open_.back().node].where.end = cursor_.next_token().end;
    open_.pop_back();
    return true;
  }

  bool check_string(const std::string& text, Stretch where) {
    if (text.size() > kMostString) {
      add(where, "the string is longer than " + std::to_string(kMostString) + " bytes; shorten it");
      return false;
    }
    std::string_view rest = text;
    while (!rest.empty()) {
      const CodePoint point = first_code_point(rest);
      if (is_unprintable(point.value)) {
        add(where, "the string contains the unprintable character " + printable(rest.substr(0, point.length)) + "; remove it");
        return true;  // goes on, so that everything else is reported as well
      }
      rest.remove_prefix(point.length);
    }
    return true;
  }

  void report_duplicates(std::uint32_t object) {
    std::vector<const Node*> members;
    for (std::uint32_t i = nodes_[object].first_child; i != Node::kNone; i = nodes_[i].next) members.push_back(&nodes_[i]);
    std::stable_sort(members.begin(), members.end(), [](const Node* a, const Node* b) { return a->key < b->key; });
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (members[i]->key != members[i - 1]->key) continue;
      // Finding the line walks the text, so that it must not be done for each of thousands.
      const LineColumn first = problems_.full() ? LineColumn{} : line_column(text_, members[i - 1]->key_where.begin);
      add(members[i]->key_where, '"' + printable(members[i]->key) + "\" occurs twice in this object (before on line " +
                                     std::to_string(first.line) + "); remove one");
    }
  }

  std::string_view text_;
  Problems& problems_;
  Cursor cursor_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;
  std::string key_;
  Stretch key_where_;
};

/// What the reader would not notice or not name. False when the text must not be read at all.
bool check_bytes(std::string_view text, Problems& problems) {
  const auto refuse = [&](std::size_t at, std::string why) {
    problems.add(Severity::error, {at, std::min(at + 1, text.size())}, {}, std::move(why));
    return false;
  };
  if (text.size() > kMostText) return refuse(0, "larger than 1 MiB; a policy is a few KiB: is this the right file?");
  if (text.starts_with("\xEF\xBB\xBF")) return refuse(0, "begins with a byte order mark; save the file as UTF-8 without one");
  // The reader takes NUL for the end of its input and would accept whatever follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return refuse(nul, "a NUL byte; is this a text file?");
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    return refuse(bad, "not valid UTF-8 (" + printable(text.substr(bad, 1)) + "); save the file as UTF-8");
  }
  return true;
}

}  // namespace

std::optional<Document> parse(std::string_view text, Problems& problems) {
  if (!check_bytes(text, problems)) return std::nullopt;
  Builder builder(text, problems);
  try {
    const char* begin = text.data();
    if (!Json::sax_parse(begin, begin + text.size(), &builder, Json::input_format_t::json, true, true)) return std::nullopt;
  } catch (const std::exception&) {  // memory is all that can be missing here
    problems.add(Severity::error, {}, {}, "not enough memory to read the document");
    return std::nullopt;
  }
  return Document(text, builder.take_nodes());
}

}  // namespace cupool::policy
