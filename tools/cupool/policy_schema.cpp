// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/policy_schema.h"

#include <nlohmann/json.hpp>

#include "policy/keys.h"
#include "policy/value.h"

namespace cupool::tool {
namespace {

using Json = nlohmann::ordered_json;
using policy::Bounds;
using policy::KeySpec;
using policy::Section;
using policy::ValueType;

constexpr std::uint64_t kLargestInteger = std::uint64_t{1} << 53;
constexpr const char* kBytes = R"([0-9]+(\.[0-9]{1,6})?(B|KiB|MiB|GiB|TiB|Ki|Mi|Gi|Ti|K|M|G|T))";
constexpr const char* kShare = R"(0*(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%)";
constexpr const char* kClassName = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$";

std::string whole(const std::string& pattern) {
  return "^(" + pattern + ")$";
}

std::uint64_t to_integer(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

Json text_or_bytes(const std::string& pattern, std::uint64_t low, std::uint64_t high) {
  return {
      {"anyOf", {{{"type", "string"}, {"pattern", whole(pattern)}}, {{"type", "integer"}, {"minimum", low}, {"maximum", high}}}}};
}

Json integer_between(std::string_view low, std::string_view high) {
  return {{"type", "integer"}, {"minimum", to_integer(low)}, {"maximum", to_integer(high)}};
}

Json words_of(std::string_view words) {
  Json list = Json::array();
  for (std::size_t i = 0; i < policy::word_count(words); ++i) list.push_back(policy::word_at(words, i));
  return list;
}

Json pattern_list() {
  const Json one{{"type", "string"}, {"minLength", 1}};
  return {{"anyOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 1}, {"maxItems", 64}}}}};
}

Json section_schema(Section section);

/// An object by names of the user's choosing.
Json named(Section section, const char* name_pattern, int least) {
  return {{"type", "object"},
          {"minProperties", least},
          {"maxProperties", 64},
          {"propertyNames", {{"pattern", name_pattern}}},
          {"additionalProperties", section_schema(section)}};
}

/// The section that an "object" key opens: its pointer is the key's.
Section section_behind(const KeySpec& spec) {
  const std::string pointer = std::string(policy::spec_of(spec.section).pointer) + '/' + std::string(spec.name);
  for (const policy::SectionSpec& section : policy::sections()) {
    if (section.pointer == pointer) return section.section;
  }
  return spec.section;
}

Json size_schema(const KeySpec& spec, const std::string& pattern) {
  const Bounds bounds = policy::bounds_of(spec);
  if (bounds.low.empty()) return text_or_bytes(pattern, 0, kLargestInteger);
  return text_or_bytes(pattern, policy::read_size(bounds.low).value->value, policy::read_size(bounds.high).value->value);
}

Json value_schema(const KeySpec& spec) {
  const Bounds bounds = policy::bounds_of(spec);
  switch (spec.type) {
    case ValueType::byte_size:
      return size_schema(spec, kBytes);
    case ValueType::size:
      return size_schema(spec, std::string(kBytes) + '|' + kShare + "|[0-9]+u");
    case ValueType::limit:
      return size_schema(spec, std::string(kBytes) + '|' + kShare + "|[0-9]+u|infinity");
    case ValueType::share:
      return {{"type", "string"}, {"pattern", whole(kShare)}};
    case ValueType::duration:
      return {{"type", "string"},
              {"minLength", 2},
              {"pattern", "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+ns)?$"}};
    case ValueType::jobs:
      return {{"anyOf",
               {integer_between(bounds.low, bounds.high), {{"type", "string"}, {"pattern", R"(^[0-9]+(\.[0-9]{1,3})?x cores$)"}}}}};
    case ValueType::integer:
      return integer_between(bounds.low, bounds.high);
    case ValueType::number:
      return {{"type", "number"}, {"minimum", to_integer(bounds.low)}, {"maximum", to_integer(bounds.high)}};
    case ValueType::boolean:
      return {{"type", "boolean"}};
    case ValueType::text:
      return {{"type", "string"}, {"minLength", 1}, {"maxLength", 4096}};
    case ValueType::name:
      return {{"type", "string"}, {"pattern", kClassName}};
    case ValueType::choice:
      return {{"type", "string"}, {"enum", words_of(spec.range)}};
    case ValueType::choices:
      return {{"type", "array"}, {"uniqueItems", true}, {"items", {{"type", "string"}, {"enum", words_of(spec.range)}}}};
    case ValueType::patterns:
      return pattern_list();
    case ValueType::environment:
      return {{"type", "object"},
              {"maxProperties", 64},
              {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]{0,127}$"}}},
              {"additionalProperties", pattern_list()}};
    case ValueType::object:
      return section_schema(section_behind(spec));
    case ValueType::classes:
      return named(Section::job_class, kClassName, 1);
    case ValueType::job_list:
      return {{"type", "array"}, {"maxItems", 256}, {"items", section_schema(Section::job)}};
    case ValueType::devices:
      return named(Section::device, R"(^(\*|0|[1-9][0-9]{0,3}|(GPU|MIG)-[0-9a-fA-F-]{0,36})$)", 0);
  }
  return Json::object();
}

/// A value that an editor can offer.
Json example_of(ValueType type) {
  switch (type) {
    case ValueType::byte_size:
      return {"128MiB"};
    case ValueType::size:
      return {"12GiB", "40%", "12u"};
    case ValueType::limit:
      return {"12GiB", "60%", "infinity"};
    case ValueType::share:
      return {"50%"};
    case ValueType::duration:
      return {"30s", "1h30m"};
    case ValueType::jobs:
      return Json::array({12, "1.5x cores"});
    case ValueType::patterns:
      return Json::array({"*serve.py*", Json::array({"ana", "bo"})});
    case ValueType::environment:
      return Json::array({{{"SLURM_JOB_PARTITION", "prod"}}});
    default:
      return nullptr;
  }
}

Json section_schema(Section section) {
  Json properties = Json::object();
  for (const KeySpec& spec : policy::keys_of(section)) {
    Json described = value_schema(spec);
    described["description"] =
        std::string(spec.meaning) + (spec.state == policy::State::later ? " (accepted, not acted on yet)" : "");
    if (!spec.fallback.empty()) described["default"] = Json::parse(spec.fallback);
    if (const Json examples = example_of(spec.type); !examples.is_null()) described["examples"] = examples;
    properties[std::string(spec.name)] = std::move(described);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"patternProperties", {{"^x-", Json::object()}}},
          {"additionalProperties", false}};
}

std::string escaped_cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string shown_range(const KeySpec& spec) {
  const Bounds bounds = policy::bounds_of(spec);
  if (!bounds.low.empty()) return std::string(bounds.low) + " to " + std::string(bounds.high);
  std::string out;
  for (std::size_t i = 0; i < policy::word_count(spec.range); ++i)
    out += (i == 0 ? "" : ", ") + std::string(policy::word_at(spec.range, i));
  return out;
}

const char* shown_type(ValueType type) {
  switch (type) {
    case ValueType::byte_size:
      return "bytes";
    case ValueType::size:
      return "size";
    case ValueType::limit:
      return "size or infinity";
    case ValueType::share:
      return "percentage";
    case ValueType::duration:
      return "duration";
    case ValueType::jobs:
      return "number of jobs";
    case ValueType::integer:
      return "whole number";
    case ValueType::number:
      return "number";
    case ValueType::boolean:
      return "true or false";
    case ValueType::text:
      return "text";
    case ValueType::name:
      return "name of a class";
    case ValueType::choice:
      return "choice";
    case ValueType::choices:
      return "list of choices";
    case ValueType::patterns:
      return "pattern or list";
    case ValueType::environment:
      return "patterns by variable";
    case ValueType::object:
      return "object";
    case ValueType::classes:
      return "objects by name";
    case ValueType::job_list:
      return "list";
    case ValueType::devices:
      return "objects by device";
  }
  return "";
}

const char* shown_layer(policy::LayerRule layer) {
  return layer == policy::LayerRule::fixed ? "no" : layer == policy::LayerRule::tighten ? "towards less" : "yes";
}

/// The lines of one section of the starter, each key behind a comment sign.
std::string commented_section(const char* name, Section section) {
  std::string out = "  // \"" + std::string(name) + "\": {  // " + std::string(policy::spec_of(section).meaning) + '\n';
  const auto specs = policy::keys_of(section);
  for (const KeySpec& spec : specs) {
    out += "  //   \"" + std::string(spec.name) + "\": " + std::string(spec.fallback) + (&spec == &specs.back() ? "" : ",") +
           "  // " + std::string(spec.meaning) + '\n';
  }
  return out + "  // },\n";
}

}  // namespace

std::string policy_schema() {
  Json schema{
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"$id", "https://cupool.example/schema/policy-1.json"},
      {"title", "cupool policy, version 1"},
      {"description",
       "Who may have what of a GPU's memory. Percentages are of the pool, sizes are binary: \"12GiB\", \"40%\", \"12u\" (units)."}};
  schema.update(section_schema(Section::root));
  schema["required"] = Json::array({"version"});
  return schema.dump(1, '\t') + '\n';
}

std::string policy_key_table() {
  std::string out = "| key | type | default | range | lower trust may change it | meaning |\n|---|---|---|---|---|---|\n";
  for (const KeySpec& spec : policy::keys()) {
    const std::string pointer = std::string(policy::spec_of(spec.section).pointer) + '/' + std::string(spec.name);
    out += "| `" + pointer + "` | " + shown_type(spec.type) + " | " +
           (spec.fallback.empty() ? "" : '`' + std::string(spec.fallback) + '`') + " | " + shown_range(spec) + " | " +
           shown_layer(spec.layer) + " | " + escaped_cell(spec.meaning) +
           (spec.state == policy::State::later ? " **(not acted on yet)**" : "") + " |\n";
  }
  return out;
}

std::string policy_starter() {
  std::string out = R"({
  // A cupool policy. Check it with: cupool policy check FILE    What it amounts to: cupool policy explain --policy FILE --gpu 80GiB
  "$schema": "policy.schema.json",
  "version": 1,

  "classes": {
    // Each job of a class has the guarantee for itself, and may borrow up to the limit what others leave free.
    "critical":    { "priority": 100, "guarantee": "30%", "limit": "80%", "critical": true, "max_wait": "60s" },
    "standard":    { "priority": 50, "limit": "60%" },
    "best_effort": { "priority": 10, "limit": "40%", "max_hold": "10m" }
  },
  "default_class": "standard",

  "jobs": [
    // The first entry that fits decides. * is anything, ? one character; a list means any of them.
    { "match": { "command": "*serve.py*" }, "class": "critical" },
    { "match": { "command": ["*jupyter*", "*ipykernel*"] }, "class": "best_effort" }
  ],

  // Everything below is the default: remove the // of what you want to change.

)";
  out += commented_section("pool", Section::pool);
  out += commented_section("admission", Section::admission);
  out += commented_section("queue", Section::queue);
  out += commented_section("defrag", Section::defrag);
  out += commented_section("frameworks", Section::frameworks);
  out += commented_section("log", Section::log);
  out += R"(
  "report": { "call_sites": true, "timeline": true }
}
)";
  return out;
}

}  // namespace cupool::tool
