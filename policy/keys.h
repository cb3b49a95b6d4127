// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// The rows of keys.def as data.
namespace cupool::policy {

enum class Section : std::uint8_t {
#define CUPOOL_SECTION(section, pointer, meaning) section,
#define CUPOOL_KEY(...)
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
};

/// One per row: `Key::pool_unit`.
enum class Key : std::uint8_t {
#define CUPOOL_SECTION(...)
#define CUPOOL_KEY(section, key, member, ...) section##_##member,
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
};

/// The keys that a file states, as opposed to those that have their default. Not part of a policy's value.
class GivenKeys {
 public:
  void add(Key key) { keys_.set(static_cast<std::size_t>(key)); }
  bool has(Key key) const { return keys_.test(static_cast<std::size_t>(key)); }
  bool operator==(const GivenKeys&) const { return true; }

 private:
  std::bitset<128> keys_;
};

enum class ValueType : std::uint8_t {
  byte_size,  ///< bytes only
  size,       ///< bytes, a percentage or units
  limit,      ///< the same or "infinity"
  share,
  duration,
  jobs,  ///< an integer or "1.5x cores"
  integer,
  number,
  boolean,
  text,
  name,  ///< of a class
  choice,
  choices,      ///< a list of different words
  patterns,     ///< a pattern or a list of them
  environment,  ///< patterns by variable
  object,
  classes,
  job_list,
  devices,
};

/// What a file of lower trust may do to a value, for its own job.
enum class LayerRule : std::uint8_t { fixed, tighten, free };
enum class State : std::uint8_t { enforced, later };

struct KeySpec {
  Key key;
  Section section;
  std::string_view name;
  ValueType type;
  std::string_view fallback;  ///< JSON, or empty
  std::string_view range;
  LayerRule layer;
  State state;
  std::string_view meaning;
};

struct SectionSpec {
  Section section;
  std::string_view pointer;
  std::string_view meaning;
};

/// In the order of keys.def; constant-initialised.
std::span<const KeySpec> keys();
std::span<const KeySpec> keys_of(Section section);
std::span<const SectionSpec> sections();
const KeySpec& spec_of(Key key);
const SectionSpec& spec_of(Section section);

/// The key of that name in a section, or null.
const KeySpec* find_key(Section section, std::string_view name);

/// "low..high" cut in two; both empty where there is no range.
struct Bounds {
  std::string_view low, high;
};
Bounds bounds_of(const KeySpec& spec);

/// The `number`-th word of a "a|b|c" list; empty past its end.
std::string_view word_at(std::string_view words, std::size_t number);
std::size_t word_count(std::string_view words);

}  // namespace cupool::policy
