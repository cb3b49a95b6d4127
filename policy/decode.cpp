// SPDX-License-Identifier: Apache-2.0
#include "policy/decode.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "policy/keys.h"
#include "policy/names.h"
#include "policy/suggest.h"

namespace cupool::policy {
namespace {

constexpr std::uint64_t kLargestInteger = std::uint64_t{1} << 53;  // beyond it readers of JSON disagree
constexpr std::size_t kMostPatterns = 64;

/// What other systems call our keys. Offered only where the section has the key.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kOtherWords{{{"min", "guarantee"},
                                                                                     {"max", "limit"},
                                                                                     {"quota", "limit"},
                                                                                     {"memory", "limit"},
                                                                                     {"request", "guarantee"},
                                                                                     {"argv", "command"},
                                                                                     {"cmd", "command"},
                                                                                     {"uid", "user"},
                                                                                     {"gid", "group"},
                                                                                     {"timeout", "max_wait"},
                                                                                     {"wait", "max_wait"},
                                                                                     {"assign", "jobs"},
                                                                                     {"gpus", "devices"},
                                                                                     {"unit_size", "unit"}}};

/// "a size such as ...": what a key takes.
std::string_view wanted(ValueType type) {
  switch (type) {
    case ValueType::byte_size:
      return R"(a size in bytes such as "128MiB")";
    case ValueType::size:
      return R"(a size such as "12GiB", "40%" or "12u")";
    case ValueType::limit:
      return R"(a size such as "12GiB", "60%" or "12u", or "infinity")";
    case ValueType::share:
      return R"(a percentage such as "60%")";
    case ValueType::duration:
      return R"(a duration such as "30s" or "1h30m")";
    case ValueType::jobs:
      return R"(a number of jobs such as 12 or "1.5x cores")";
    case ValueType::integer:
      return "a whole number";
    case ValueType::number:
      return "a number";
    case ValueType::boolean:
      return "true or false";
    case ValueType::text:
    case ValueType::name:
    case ValueType::choice:
      return "a text in double quotes";
    case ValueType::choices:
      return "a list of words";
    case ValueType::patterns:
      return "a pattern in double quotes, or a list of them";
    case ValueType::environment:
      return R"(an object of variables and patterns such as {"SLURM_JOB_PARTITION": "prod"})";
    case ValueType::object:
      return "an object with the keys of this section";
    case ValueType::classes:
      return "an object of classes by name";
    case ValueType::job_list:
      return R"(a list of entries such as {"match": {"user": "ana"}, "class": "batch"})";
    case ValueType::devices:
      return R"(an object of devices by UUID prefix, index or "*")";
  }
  return "a value";
}

class Decoder {
 public:
  Decoder(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  Policy run() {
    Policy policy;
    if (document_.root().kind != NodeKind::object) {
      error(document_.root(), R"(a policy is an object; write at least {"version": 1})");
      return policy;
    }
    read_section<Section::root>(document_.root(), policy);
    if (document_.member(document_.root(), "version") == nullptr) {
      problems_.add(Severity::error, {document_.root().where.begin, document_.root().where.begin + 1}, "/version",
                    R"(is missing; write "version": 1)");
    }
    return policy;
  }

 private:
  // --- problems

  void error(const Node& node, std::string text) {
    problems_.add(Severity::error, node.where, document_.pointer(node), std::move(text));
  }

  void error_at_key(const Node& node, std::string text) {
    problems_.add(Severity::error, node.key_where, document_.pointer(node), std::move(text));
  }

  void wrong_type(const KeySpec& spec, const Node& node) {
    std::string text = node.kind == NodeKind::object  ? "an object"
                       : node.kind == NodeKind::array ? "a list"
                                                      : document_.shown(node);
    text += " is not " + std::string(wanted(spec.type));
    if (node.kind == NodeKind::null) text += "; to have the default, leave the key out";
    error(node, std::move(text));
  }

  void out_of_range(const KeySpec& spec, const Node& node) {
    const Bounds bounds = bounds_of(spec);
    error(node, document_.shown(node) + " is out of range; " + std::string(spec.name) + " goes from " + std::string(bounds.low) +
                    " to " + std::string(bounds.high));
  }

  void unknown_key(Section section, const Node& node) {
    std::vector<std::string_view> names;
    for (const KeySpec& spec : keys_of(section)) names.push_back(spec.name);
    for (const auto& [other, ours] : kOtherWords) {
      if (node.key == other && find_key(section, ours) != nullptr) {
        return error_at_key(node, "unknown key; here it is called \"" + std::string(ours) + '"');
      }
    }
    if (!nearest(node.key, names)) {
      for (const KeySpec& spec : keys()) {
        if (spec.name != node.key) continue;
        const std::string_view home = spec_of(spec.section).pointer;
        return error_at_key(node, "unknown key; it belongs in " + (home.empty() ? "the outermost object" : std::string(home)));
      }
    }
    error_at_key(node, "unknown key" + suggestion(node.key, names, "the keys here are"));
  }

  // --- objects with fixed keys

  template <Section section, class T>
  void read_section(const Node& node, T& out) {
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      if (std::string_view(child->key).starts_with("x-")) continue;
      const KeySpec* spec = find_key(section, child->key);
      if (spec == nullptr) {
        unknown_key(section, *child);
        continue;
      }
      if (spec->state == State::later && spec->type != ValueType::object) {
        problems_.add(Severity::warning, child->key_where, document_.pointer(*child),
                      "accepted, but this version does not act on it yet");
      }
      if constexpr (requires { out.given; }) out.given.add(spec->key);
      read_member<section>(*spec, *child, out);
    }
  }

  template <Section section, class T>
  void read_member(const KeySpec& spec, const Node& node, T& out) {
    switch (spec.key) {
#define CUPOOL_SECTION(...)
#define CUPOOL_KEY(of, name, member, ...)   \
  case Key::of##_##member:                  \
    if constexpr (section == Section::of) { \
      read(spec, node, out.member);         \
    }                                       \
    break;
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
    }
  }

  template <Section section, class T>
  void read_object(const KeySpec& spec, const Node& node, T& out) {
    if (node.kind != NodeKind::object) return wrong_type(spec, node);
    read_section<section>(node, out);
  }

  void read(const KeySpec& spec, const Node& node, PoolRules& out) {
    read_object<Section::pool>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, Match& out) {
    read_object<Section::match>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, Admission& out) {
    read_object<Section::admission>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, QueueRules& out) {
    read_object<Section::queue>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, DefragRules& out) {
    read_object<Section::defrag>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, TimeSlice& out) {
    read_object<Section::time_slice>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, FrameworkRules& out) {
    read_object<Section::frameworks>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, ReportRules& out) {
    read_object<Section::report>(spec, node, out);
  }
  void read(const KeySpec& spec, const Node& node, LogRules& out) {
    read_object<Section::log>(spec, node, out);
  }

  // --- collections

  void read(const KeySpec& spec, const Node& node, std::vector<ClassRules>& out) {
    if (node.kind != NodeKind::object) return wrong_type(spec, node);
    if (node.children == 0) error(node, "is empty; name at least one class, or leave the key out");
    if (node.children > 64) return error(node, std::to_string(node.children) + " classes are too many; 64 is the most");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      if (!is_class_name(child->key)) {
        error_at_key(*child, '"' + printable(child->key) +
                                 "\" cannot name a class; use 1 to 64 letters, digits, _, . or -, the first no . or -");
      }
      ClassRules rules;
      rules.name = child->key;
      if (child->kind == NodeKind::object)
        read_section<Section::job_class>(*child, rules);
      else
        error(*child, document_.shown(*child) + R"( is not a class; write for example {"limit": "40%"})");
      out.push_back(std::move(rules));
    }
  }

  void read(const KeySpec& spec, const Node& node, std::vector<JobRule>& out) {
    if (node.kind != NodeKind::array) return wrong_type(spec, node);
    if (node.children > 256) return error(node, std::to_string(node.children) + " entries are too many; 256 is the most");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      JobRule rule;
      if (child->kind == NodeKind::object)
        read_section<Section::job>(*child, rule);
      else
        error(*child,
              document_.shown(*child) + R"( is not an entry; write for example {"match": {"user": "ana"}, "class": "batch"})");
      out.push_back(std::move(rule));
    }
  }

  void read(const KeySpec& spec, const Node& node, std::vector<DeviceRules>& out) {
    if (node.kind != NodeKind::object) return wrong_type(spec, node);
    if (node.children > 64) return error(node, std::to_string(node.children) + " devices are too many; 64 is the most");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      if (!is_device_selector(child->key)) {
        error_at_key(*child, '"' + printable(child->key) +
                                 R"(" names no device; write a UUID or its beginning ("GPU-5d1e", "MIG-"), an index ("0") or "*")");
      }
      DeviceRules rules;
      rules.selector = child->key;
      if (child->kind == NodeKind::object)
        read_section<Section::device>(*child, rules);
      else
        error(*child, document_.shown(*child) + R"( is not an object; write for example {"capacity": "90%"})");
      out.push_back(std::move(rules));
    }
  }

  void read(const KeySpec& spec, const Node& node, std::vector<std::pair<std::string, Patterns>>& out) {
    if (node.kind != NodeKind::object) return wrong_type(spec, node);
    if (node.children > kMostPatterns) return error(node, "more than 64 variables; shorten the list");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      if (!is_variable_name(child->key)) {
        error_at_key(*child,
                     '"' + printable(child->key) + "\" cannot name a variable; use letters, digits and _, the first no digit");
      }
      out.emplace_back(child->key, Patterns{});
      read(spec_of(Key::match_command), *child, out.back().second);
    }
  }

  void read(const KeySpec& spec, const Node& node, Patterns& out) {
    if (node.kind == NodeKind::string) return read_pattern(node, out);
    if (node.kind != NodeKind::array) return wrong_type(spec, node);
    if (node.children == 0) error(node, "is empty and would match nothing; name a pattern, or leave the key out");
    if (node.children > kMostPatterns) return error(node, "more than 64 patterns; shorten the list");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      if (child->kind == NodeKind::string)
        read_pattern(*child, out);
      else
        wrong_type(spec, *child);
    }
  }

  void read_pattern(const Node& node, Patterns& out) {
    if (node.text.empty()) error(node, R"(is empty and would match nothing; write "*" for anything)");
    out.push_back(node.text);
  }

  void read(const KeySpec& spec, const Node& node, ChargeSet& out) {
    if (node.kind != NodeKind::array) return wrong_type(spec, node);
    ChargeSet set{0};
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      const auto word = read_word(spec, *child);
      if (!word) continue;
      if (set.has(static_cast<Charge>(*word))) error(*child, document_.shown(*child) + " stands twice in the list; remove one");
      set.add(static_cast<Charge>(*word));
    }
    out = set;
  }

  // --- single values

  std::optional<std::size_t> read_word(const KeySpec& spec, const Node& node) {
    if (node.kind != NodeKind::string) {
      wrong_type(spec, node);
      return std::nullopt;
    }
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < word_count(spec.range); ++i) words.push_back(word_at(spec.range, i));
    const auto found = std::find(words.begin(), words.end(), node.text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    error(node, document_.shown(node) + " is not a choice" + suggestion(node.text, words, "the choices are"));
    return std::nullopt;
  }

  template <class E>
  requires std::is_enum_v<E>
  void read(const KeySpec& spec, const Node& node, E& out) {
    if (const auto word = read_word(spec, node)) out = static_cast<E>(*word);
  }

  template <class T>
  void read(const KeySpec& spec, const Node& node, std::optional<T>& out) {
    T value{};
    const std::size_t errors = problems_.errors();
    read(spec, node, value);
    if (problems_.errors() == errors) out = value;
  }

  void read(const KeySpec& spec, const Node& node, std::string& out) {
    if (node.kind != NodeKind::string) return wrong_type(spec, node);
    if (node.text.empty()) return error(node, "is empty; write a text, or leave the key out");
    out = node.text;
  }

  void read(const KeySpec& spec, const Node& node, bool& out) {
    if (node.kind != NodeKind::boolean) return wrong_type(spec, node);
    out = node.boolean;
  }

  void read(const KeySpec& spec, const Node& node, double& out) {
    if (node.kind != NodeKind::integer && node.kind != NodeKind::number) return wrong_type(spec, node);
    const Bounds bounds = bounds_of(spec);
    const double low = static_cast<double>(to_integer(bounds.low));
    const double high = static_cast<double>(to_integer(bounds.high));
    if (node.number < low || node.number > high) return out_of_range(spec, node);
    out = node.number;
  }

  /// A whole number written as digits alone; nothing, and a problem, for any other value.
  std::optional<std::uint64_t> whole_number(const KeySpec& spec, const Node& node) {
    const std::string shown = document_.shown(node);
    if (node.kind == NodeKind::integer && node.integer <= kLargestInteger) return node.integer;
    const bool digits = std::all_of(shown.begin(), shown.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (node.kind == NodeKind::integer ||
        (node.kind == NodeKind::number && digits && node.number > static_cast<double>(kLargestInteger))) {
      error(node, shown + " is larger than 2^53, which JSON readers do not keep exactly; write a smaller number");
    } else if (node.kind == NodeKind::number && shown.front() == '-') {
      error(node, shown + " is negative; write " + std::string(wanted(spec.type)));
    } else if (node.kind == NodeKind::number) {
      error(node, shown + " is not a whole number written as digits; write " + std::string(wanted(spec.type)));
    } else {
      wrong_type(spec, node);
    }
    return std::nullopt;
  }

  static std::uint64_t to_integer(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
  }

  bool in_range(const KeySpec& spec, const Node& node, std::uint64_t value) {
    const Bounds bounds = bounds_of(spec);
    const bool inside = value >= to_integer(bounds.low) && value <= to_integer(bounds.high);
    if (!inside) {
      if (spec.key == Key::root_version) {
        error(node, "this is version " + document_.shown(node) + " of the format; this cupool reads version 1");
      } else {
        out_of_range(spec, node);
      }
    }
    return inside;
  }

  template <class T>
  requires(std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t>) void read(const KeySpec& spec, const Node& node,
                                                                                          T& out) {
    const auto value = whole_number(spec, node);
    if (value && in_range(spec, node, *value)) out = static_cast<T>(*value);
  }

  /// Text by its grammar; the problem is the grammar's reason.
  template <class T>
  std::optional<T> read_grammar(const KeySpec& spec, const Node& node, Read<T> (*grammar)(std::string_view)) {
    if (node.kind != NodeKind::string) {
      wrong_type(spec, node);
      return std::nullopt;
    }
    Read<T> result = grammar(node.text);
    if (!result.value) error(node, printable(result.reason, 400));
    return result.value;
  }

  template <class T>
  bool between(const KeySpec& spec, const Node& node, const T& value, Read<T> (*grammar)(std::string_view)) {
    const Bounds bounds = bounds_of(spec);
    if (bounds.low.empty()) return true;
    const bool inside = value >= *grammar(bounds.low).value && value <= *grammar(bounds.high).value;
    if (!inside) out_of_range(spec, node);
    return inside;
  }

  void read(const KeySpec& spec, const Node& node, Share& out) {
    const auto share = read_grammar<Share>(spec, node, read_share);
    if (share && between(spec, node, *share, read_share)) out = *share;
  }

  void read(const KeySpec& spec, const Node& node, Duration& out) {
    if (node.kind == NodeKind::integer || node.kind == NodeKind::number) {
      return error(node, document_.shown(node) + " has no unit; write a duration such as \"" + document_.shown(node) + "s\"");
    }
    const auto duration = read_grammar<Duration>(spec, node, read_duration);
    if (duration && between(spec, node, *duration, read_duration)) out = *duration;
  }

  void read(const KeySpec& spec, const Node& node, JobCount& out) {
    if (node.kind == NodeKind::string) {
      if (const auto count = read_grammar<JobCount>(spec, node, read_job_count)) out = *count;
      return;
    }
    const auto count = whole_number(spec, node);
    if (count && in_range(spec, node, *count)) out = JobCount{*count, 0};
  }

  void read(const KeySpec& spec, const Node& node, Size& out) {
    std::optional<Size> size;
    if (node.kind == NodeKind::string) {
      size = read_grammar<Size>(spec, node, read_size);
    } else if (const auto bytes = whole_number(spec, node)) {
      size = Size::bytes(Bytes{*bytes});
    }
    if (!size) return;
    if (spec.type == ValueType::byte_size && size->kind != Size::Kind::bytes) return wrong_type(spec, node);
    if (spec.type != ValueType::limit && size->kind == Size::Kind::infinity) {
      return error(node, "\"infinity\" is for limits only; write " + std::string(wanted(spec.type)));
    }
    const Bounds bounds = bounds_of(spec);
    if (!bounds.low.empty() &&
        (size->value < read_size(bounds.low).value->value || size->value > read_size(bounds.high).value->value)) {
      return out_of_range(spec, node);
    }
    out = *size;
  }

  const Document& document_;
  Problems& problems_;
};

}  // namespace

Policy decode(const Document& document, Problems& problems) {
  return Decoder(document, problems).run();
}

}  // namespace cupool::policy
