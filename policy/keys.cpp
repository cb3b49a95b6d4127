// SPDX-License-Identifier: Apache-2.0
#include "policy/keys.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace cupool::policy {
namespace {

constexpr SectionSpec kSections[] = {
#define CUPOOL_SECTION(section, pointer, meaning) {Section::section, pointer, meaning},
#define CUPOOL_KEY(...)
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
};

constexpr KeySpec kKeys[] = {
#define CUPOOL_SECTION(...)
#define CUPOOL_KEY(section, key, member, type, fallback, range, layer, state, meaning) \
  {Key::section##_##member, Section::section, key, ValueType::type, fallback, range, LayerRule::layer, State::state, meaning},
#include "policy/keys.def"
#undef CUPOOL_SECTION
#undef CUPOOL_KEY
};

constexpr bool rows_of_a_section_stand_together() {
  for (std::size_t i = 1; i < std::size(kKeys); ++i) {
    if (kKeys[i].section < kKeys[i - 1].section) return false;
  }
  return true;
}
static_assert(std::size(kKeys) <= 128, "GivenKeys holds a bit for each row");
static_assert(rows_of_a_section_stand_together(), "keys.def: order the rows as the sections");

}  // namespace

std::span<const KeySpec> keys() {
  return kKeys;
}
std::span<const SectionSpec> sections() {
  return kSections;
}

std::span<const KeySpec> keys_of(Section section) {
  const auto first = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const KeySpec& spec) { return spec.section == section; });
  const auto last = std::find_if(first, std::end(kKeys), [&](const KeySpec& spec) { return spec.section != section; });
  return {first, last};
}

const KeySpec& spec_of(Key key) {
  return kKeys[static_cast<std::size_t>(key)];
}
const SectionSpec& spec_of(Section section) {
  return kSections[static_cast<std::size_t>(section)];
}

const KeySpec* find_key(Section section, std::string_view name) {
  for (const KeySpec& spec : keys_of(section)) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

Bounds bounds_of(const KeySpec& spec) {
  const std::size_t dots = spec.range.find("..");
  if (dots == std::string_view::npos) return {};
  return {spec.range.substr(0, dots), spec.range.substr(dots + 2)};
}

std::string_view word_at(std::string_view words, std::size_t number) {
  for (; number > 0; --number) {
    const std::size_t bar = words.find('|');
    if (bar == std::string_view::npos) return {};
    words.remove_prefix(bar + 1);
  }
  return words.substr(0, words.find('|'));
}

std::size_t word_count(std::string_view words) {
  return words.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(words.begin(), words.end(), '|'));
}

}  // namespace cupool::policy
