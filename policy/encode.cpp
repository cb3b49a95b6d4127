// SPDX-License-Identifier: Apache-2.0
#include "policy/encode.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "policy/problem.h"

namespace cupool::policy {
namespace {

std::string literal(const KeySpec&, bool value) {
  return value ? "true" : "false";
}
std::string literal(const KeySpec&, std::uint64_t value) {
  return std::to_string(value);
}
std::string literal(const KeySpec&, std::int64_t value) {
  return std::to_string(value);
}
std::string literal(const KeySpec&, double value) {
  std::array<char, 40> text{};
  // Not printf: the host program may have set a locale that writes a comma.
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}
std::string literal(const KeySpec&, const std::string& value) {
  return json_string(value);
}
std::string literal(const KeySpec&, const Size& value) {
  return json_string(to_text(value));
}
std::string literal(const KeySpec&, Share value) {
  return json_string(to_text(value));
}
std::string literal(const KeySpec&, Duration value) {
  return json_string(to_text(value));
}
std::string literal(const KeySpec&, const JobCount& value) {
  return value.per_core_thousandths == 0 ? std::to_string(value.fixed) : json_string(to_text(value));
}
template <class E>
requires std::is_enum_v<E> std::string literal(const KeySpec& spec, E value) {
  return json_string(word_at(spec.range, static_cast<std::size_t>(value)));
}
std::string literal(const KeySpec& spec, ChargeSet value) {
  std::string text;
  for (std::size_t i = 0; i < word_count(spec.range); ++i) {
    if (value.has(static_cast<Charge>(i))) text += (text.empty() ? "" : ", ") + json_string(word_at(spec.range, i));
  }
  return '[' + text + ']';
}
std::string literal(const KeySpec&, const Patterns& value) {
  if (value.size() == 1) return json_string(value.front());
  std::string text;
  for (const std::string& pattern : value) text += (text.empty() ? "" : ", ") + json_string(pattern);
  return '[' + text + ']';
}
std::string literal(const KeySpec& spec, const std::vector<std::pair<std::string, Patterns>>& value) {
  std::string text;
  for (const auto& [name, patterns] : value)
    text += (text.empty() ? "" : ", ") + json_string(name) + ": " + literal(spec, patterns);
  return '{' + text + '}';
}

/// Whether a value is left out of the file.
template <class T>
bool is_left_out(const T&) {
  return false;
}
template <class T>
bool is_left_out(const std::optional<T>& value) {
  return !value.has_value();
}
template <class T>
bool is_left_out(const std::vector<T>& value) {
  return value.empty();
}
bool is_left_out(const std::string& value) {
  return value.empty();
}

class Encoder {
 public:
  std::vector<EncodedValue> run(const Policy& policy) {
    add_section<Section::root>("", policy);
    return std::move(values_);
  }

 private:
  template <Section section, class T>
  void add_section(const std::string& pointer, const T& from) {
#define CUPOOL_SECTION(...)
#define CUPOOL_KEY(of, name, member, ...) \
  if constexpr (section == Section::of) add(pointer + "/" name, spec_of(Key::of##_##member), from.member);
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
  }

  template <class T>
  void add(std::string pointer, const KeySpec& spec, const T& value) {
    if (!is_left_out(value)) values_.push_back({std::move(pointer), &spec, literal(spec, value)});
  }
  template <class T>
  void add(std::string pointer, const KeySpec& spec, const std::optional<T>& value) {
    if (value) add(std::move(pointer), spec, *value);
  }
  void add(const std::string& pointer, const KeySpec&, const PoolRules& value) {
    add_section<Section::pool>(pointer, value);
    // The default gives way to the static zone; stated, it would have to fit beside it.
    if (value.given.has(Key::pool_critical_reserve)) return;
    std::erase_if(values_, [](const EncodedValue& encoded) { return encoded.spec->key == Key::pool_critical_reserve; });
  }
  void add(const std::string& pointer, const KeySpec&, const Match& value) {
    add_section<Section::match>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const Admission& value) {
    add_section<Section::admission>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const QueueRules& value) {
    add_section<Section::queue>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const DefragRules& value) {
    add_section<Section::defrag>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const TimeSlice& value) {
    add_section<Section::time_slice>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const FrameworkRules& value) {
    add_section<Section::frameworks>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const ReportRules& value) {
    add_section<Section::report>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const LogRules& value) {
    add_section<Section::log>(pointer, value);
  }
  void add(const std::string& pointer, const KeySpec&, const std::vector<ClassRules>& value) {
    for (const ClassRules& rules : value) add_section<Section::job_class>(pointer + '/' + pointer_token(rules.name), rules);
  }
  void add(const std::string& pointer, const KeySpec&, const std::vector<JobRule>& value) {
    for (std::size_t i = 0; i < value.size(); ++i) add_section<Section::job>(pointer + '/' + std::to_string(i), value[i]);
  }
  void add(const std::string& pointer, const KeySpec& spec, const std::vector<DeviceRules>& value) {
    for (const DeviceRules& rules : value) {
      const std::size_t before = values_.size();
      const std::string own = pointer + '/' + pointer_token(rules.selector);
      add_section<Section::device>(own, rules);
      // An entry that changes nothing still stands for the device, which must exist.
      if (values_.size() == before) values_.push_back({own, &spec, "{}"});
    }
  }

  std::vector<EncodedValue> values_;
};

std::vector<std::string> tokens_of(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    std::string token;
    for (; !pointer.empty() && pointer.front() != '/'; pointer.remove_prefix(1)) {
      const bool is_escape = pointer.front() == '~' && pointer.size() > 1;
      token += is_escape ? (pointer[1] == '1' ? '/' : '~') : pointer.front();
      if (is_escape) pointer.remove_prefix(1);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// Opens and closes objects and lists as the pointers ask for.
class Nesting {
 public:
  explicit Nesting(std::string& out) : out_(out) { out_ = "{"; }

  void value(const EncodedValue& value) {
    const std::vector<std::string> tokens = tokens_of(value.pointer);
    std::size_t common = 0;
    while (common < open_.size() && common + 1 < tokens.size() && open_[common] == tokens[common]) ++common;
    close_to(common);
    for (std::size_t depth = common; depth + 1 < tokens.size(); ++depth) {
      key(tokens[depth]);
      // Only the list of jobs has places instead of names.
      out_ += depth == 0 && tokens[depth] == "jobs" ? '[' : '{';
      open_.push_back(tokens[depth]);
      is_first_ = true;
    }
    key(tokens.back());
    out_ += value.json;
  }

  void end() {
    close_to(0);
    out_ += "\n}\n";
  }

 private:
  bool in_list() const { return open_.size() == 1 && open_[0] == "jobs"; }

  void key(const std::string& name) {
    out_ += is_first_ ? "\n" : ",\n";
    out_.append(2 * (open_.size() + 1), ' ');
    if (!in_list()) out_ += json_string(name) + ": ";
    is_first_ = false;
  }

  void close_to(std::size_t depth) {
    while (open_.size() > depth) {
      out_ += '\n';
      out_.append(2 * open_.size(), ' ');
      out_ += in_list() ? ']' : '}';
      open_.pop_back();
      is_first_ = false;
    }
  }

  std::string& out_;
  std::vector<std::string> open_;
  bool is_first_ = true;
};

}  // namespace

std::vector<EncodedValue> encode(const Policy& policy) {
  return Encoder().run(policy);
}

std::string encode_document(const Policy& policy) {
  std::string out;
  Nesting nesting(out);
  for (const EncodedValue& value : encode(policy)) nesting.value(value);
  nesting.end();
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    std::array<char, 8> escape{};
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace cupool::policy
