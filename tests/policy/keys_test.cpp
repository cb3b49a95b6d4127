// SPDX-License-Identifier: Apache-2.0
#include "policy/keys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "policy/encode.h"
#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

struct KeyCase {
  const char* pointer;
  std::vector<const char*> accepted;
  /// What is refused, and a part of the message.
  std::vector<std::pair<const char*, const char*>> refused;
};

const std::vector<KeyCase> kCases = {
    {"/$schema", {R"("policy.schema.json")"}, {{"1", "is not a text"}, {R"("")", "is empty"}}},
    {"/version",
     {"1"},
     {{"2", "version 2 of the format"}, {"0", "version 0"}, {R"("1")", "not a whole number"}, {"1.0", "not a whole number"}}},
    {"/pool", {"{}", R"({"x-note": [1, 2]})"}, {{"[]", "a list is not an object"}, {R"({"unti": 1})", R"(did you mean "unit")"}}},
    {"/classes",
     {R"({"a": {}})"},
     {{"{}", "is empty"},
      {"[]", "not an object of classes"},
      {R"({"-a": {}})", "cannot name a class"},
      {R"({"a": 1})", "is not a class"}}},
    {"/default_class", {R"("standard")"}, {{R"("other")", "no class is called"}, {"1", "is not a text"}, {R"("")", "is empty"}}},
    {"/jobs", {"[]", R"([{}])"}, {{"{}", "not a list of entries"}, {"[1]", "is not an entry"}}},
    {"/admission", {"{}"}, {{"1", "not an object"}}},
    {"/queue", {"{}"}, {{"1", "not an object"}}},
    {"/defrag", {"{}"}, {{"null", "leave the key out"}}},
    {"/time_slice", {"{}"}, {{"1", "not an object"}}},
    {"/frameworks", {"{}"}, {{"1", "not an object"}}},
    {"/devices",
     {"{}", R"({"GPU-5d1e": {}, "MIG-": {}, "0": {}, "*": {}})"},
     {{"[]", "not an object of devices"},
      {R"({"GPU-xyz": {}})", "names no device"},
      {R"({"00": {}})", "names no device"},
      {R"({"0": 1})", "is not an object"}}},
    {"/report", {"{}"}, {{"1", "not an object"}}},
    {"/log", {"{}"}, {{"1", "not an object"}}},
    {"/pool/unit",
     {R"("128MiB")", R"("0.25GiB")", "268435456", R"("64GiB")"},
     {{R"("127MiB")", "128MiB to 64GiB"},
      {R"("129MiB")", "not a multiple"},
      {R"("1u")", "not a size in bytes"},
      {R"("10%")", "not a size in bytes"},
      {R"("infinity")", "not a size in bytes"},
      {"0", "out of range"}}},
    {"/pool/handle",
     {R"("2MiB")", R"("128MiB")"},
     {{R"("1MiB")", "2MiB to 128MiB"}, {R"("256MiB")", "out of range"}, {R"("6MiB")", "not a power of two"}}},
    {"/pool/capacity",
     {R"("95%")", R"("infinity")", R"("100u")", R"("10GiB")"},
     {{R"("101%")", "more than 100%"}, {R"("0%")", "less than one unit"}, {"-1", "is negative"}}},
    {"/pool/static_zone", {R"("0%")", R"("60%")", R"("4GiB")"}, {{R"("infinity")", "for limits only"}, {R"("60")", "no unit"}}},
    {"/pool/critical_reserve", {R"("0%")", R"("40%")"}, {{R"("41%")", "more than the whole pool"}, {R"("12 %")", "12%"}}},
    {"/pool/heap",
     {R"("tlsf")", R"("buddy")"},
     {{R"("tlsv")", R"(did you mean "tlsf")"}, {"1", "is not a text"}, {R"("zzz")", "the choices are tlsf, buddy"}}},
    {"/pool/alignment",
     {R"("256B")", R"("2MiB")", "512"},
     {{R"("255B")", "256B to 2MiB"}, {"768", "not a power of two"}, {R"("4MiB")", "out of range"}}},
    {"/pool/keep", {"0", R"("1u")", R"("5%")"}, {{R"("infinity")", "for limits only"}, {R"("1.5u")", "whole number of units"}}},
    {"/pool/free", {R"("deferred")", R"("wait")"}, {{R"("later")", "not a choice"}}},
    {"/pool/charge",
     {"[]", R"(["contexts", "arrays"])"},
     {{R"(["context"])", R"(did you mean "contexts")"},
      {R"(["arrays", "arrays"])", "stands twice"},
      {R"("arrays")", "not a list of words"},
      {"[1]", "not a list of words"}}},
    {"/classes/*/priority", {"0", "1000"}, {{"1000001", "0 to 1000000"}, {"-1", "is negative"}, {"0.5", "not a whole number"}}},
    {"/classes/*/guarantee",
     {"0", R"("60%")", R"("4u")"},
     {{R"("61%")", "more than the static zone"}, {R"("infinity")", "for limits only"}}},
    {"/classes/*/limit",
     {R"("infinity")", R"("1u")", R"("12GiB")"},
     {{R"("60GB")", "ambiguous"}, {R"("0u")", "less than one unit"}, {R"("")", "is empty"}, {R"("-5GiB")", "is negative"}}},
    {"/classes/*/critical", {"true", "false"}, {{"1", "not true or false"}, {R"("true")", "not true or false"}}},
    {"/classes/*/max_wait",
     {R"("0s")", R"("9m")", R"("1m30s")"},
     {{R"("25h")", "0s to 1d"}, {"30", "write a duration such as \"30s\""}, {R"("30")", "no unit"}, {R"("30 s")", "units are"}}},
    {"/classes/*/on_full", {R"("wait")", R"("deny")"}, {{R"("park")", "not a choice"}}},
    {"/classes/*/max_hold",
     {R"("1s")", R"("365d")"},
     {{R"("0s")", "1s to 365d"}, {R"("1s1s")", "repeats a unit"}, {R"("1s1m")", "largest first"}}},
    {"/classes/*/on_revoke", {R"("idle")", R"("park")"}, {{R"("kill")", "not a choice"}}},
    {"/classes/*/weight", {"1", "1000"}, {{"0", "1 to 1000"}}},
    {"/jobs/0/match", {"{}"}, {{"[]", "not an object"}, {R"({"usr": "a"})", R"(did you mean "user")"}}},
    {"/jobs/0/class", {R"("standard")"}, {{R"("standrd")", R"(did you mean "standard")"}}},
    {"/jobs/0/reserve", {R"("1u")", R"("60%")"}, {{R"("61%")", "more than the static zone"}, {R"("infinity")", "for limits only"}}},
    {"/jobs/0/limit", {R"("1u")", R"("infinity")"}, {{R"("1MiB")", "less than one unit"}}},
    {"/jobs/0/serve", {R"("pool")", R"("direct")"}, {{R"("both")", "not a choice"}}},
    {"/jobs/0/match/command",
     {R"("*x*")", R"(["a", "b"])"},
     {{"[]", "would match nothing"}, {R"("")", "would match nothing"}, {"1", "not a pattern"}, {"[1]", "not a pattern"}}},
    {"/jobs/0/match/user", {R"("ana")", R"("1000")"}, {{"1000", "not a pattern"}}},
    {"/jobs/0/match/group", {R"(["ml", "10*"])"}, {{"{}", "not a pattern"}}},
    {"/jobs/0/match/cgroup", {R"("/system.slice/*")"}, {{"true", "not a pattern"}}},
    {"/jobs/0/match/cwd", {R"("/home/*")"}, {{"null", "not a pattern"}}},
    {"/jobs/0/match/env",
     {R"({"A": "b", "C_1": ["d", "*"]})", "{}"},
     {{R"({"A=": "b"})", "cannot name a variable"},
      {R"({"1A": "b"})", "cannot name a variable"},
      {R"("A=b")", "not an object of variables"},
      {R"({"A": 1})", "not a pattern"}}},
    {"/admission/max_jobs",
     {"1", "4096", R"("1.5x cores")", R"("0.125x cores")"},
     {{"0", "1 to 4096"},
      {R"("0x cores")", "no job at all"},
      {R"("1.5 x cores")", "not a number of jobs"},
      {R"("1.0001x cores")", "three decimals"},
      {R"("1001x cores")", "1000x cores"}}},
    {"/admission/on_full", {R"("wait")", R"("deny")"}, {{R"("no")", "not a choice"}}},
    {"/admission/max_wait", {R"("0s")", R"("7d")"}, {{R"("8d")", "0s to 7d"}}},
    {"/queue/order",
     {R"("priority")", R"("arrival")", R"("earliest_deadline")", R"("latest_deadline")"},
     {{R"("earliest-deadlin")", R"(did you mean "earliest_deadline")"}}},
    {"/queue/aging", {"0", "1000"}, {{"1001", "0 to 1000"}}},
    {"/queue/bypass", {"0", "1000"}, {{"1e2", "not a whole number"}}},
    {"/defrag/above",
     {R"("50%")", R"("0.5%")", R"("100%")"},
     {{R"("100.1%")", "more than 100%"},
      {R"("0.12345%")", "four decimals"},
      {"0.5", "not a percentage"},
      {R"("0.5")", "not a percentage"}}},
    {"/defrag/every", {R"("4h")", R"("1d2h3m4s")"}, {{R"("1y")", "units are"}, {R"("0s")", "out of range"}, {R"("")", "is empty"}}},
    {"/defrag/on_pressure", {"true"}, {{"0", "not true or false"}}},
    {"/defrag/max_calls",
     {"1", "1000000"},
     {{"9007199254740993", "larger than 2^53"},
      {"18446744073709551616", "larger than 2^53"},
      {"-9223372036854775808", "is negative"}}},
    {"/defrag/cpu_budget", {R"("2%")", R"("0.01%")"}, {{R"("0%")", "0.01% to 100%"}}},
    {"/time_slice/mode", {R"("off")", R"("round_robin")"}, {{R"("on")", "not a choice"}}},
    {"/time_slice/quantum", {R"("1s")"}, {{R"("1ms")", "100ms to 1d"}}},
    {"/time_slice/only_when_full", {"false"}, {{R"("no")", "not true or false"}}},
    {"/frameworks/pytorch", {R"("segments")", R"("tensors")"}, {{R"("tensor")", R"(did you mean "tensors")"}}},
    {"/frameworks/jax", {R"("tensors")"}, {{"true", "is not a text"}}},
    {"/frameworks/tensorflow", {R"("tensors")"}, {{R"("")", "not a choice"}}},
    {"/devices/*/capacity",
     {R"("90%")", R"("infinity")"},
     {{R"("0B")", "less than one unit"}, {R"("1.5B")", "whole number of bytes"}}},
    {"/devices/*/static_zone", {R"("50%")"}, {{R"("infinity")", "for limits only"}}},
    {"/devices/*/critical_reserve", {R"("10%")"}, {{R"("50%")", "more than the whole pool"}}},
    {"/devices/*/keep", {R"("2u")"}, {{R"("u")", "is not a size"}}},
    {"/report/path",
     {R"("%s/%c-%p-%r-%h-%q{USER}-%%")"},
     {{R"("%x")", "unknown placeholder %x"},
      {R"("a%")", "single %"},
      {R"("%q{}")", "names no variable"},
      {R"("%qUSER")", "without {VAR}"},
      {R"("")", "is empty"}}},
    {"/report/call_sites", {"false"}, {{"null", "not true or false"}}},
    {"/report/timeline", {"true"}, {{"[]", "not true or false"}}},
    {"/report/gpu_hour_price",
     {"0", "2.5", "1e3"},
     {{"-0.5", "0 to 1000000"}, {R"("2.5")", "is not a number"}, {"1000001", "out of range"}}},
    {"/log/level",
     {R"("off")", R"("error")", R"("warning")", R"("info")", R"("debug")"},
     {{R"("warn")", R"(did you mean "warning")"}}},
    {"/log/denials", {"0", "1000000"}, {{"1000001", "out of range"}}},
};

std::string pointer_of(const KeySpec& spec) {
  return std::string(spec_of(spec.section).pointer) + '/' + std::string(spec.name);
}

/// Keys whose value changes what else must be there: the rest of the document that makes an accepted value valid.
std::string whole_document(const KeyCase& key, const char* json) {
  return document_with(key.pointer, json);
}

}  // namespace

TEST_CASE("every key has a case, and no case is about a key that does not exist", "[policy][keys]") {
  for (const KeySpec& spec : keys()) {
    INFO(pointer_of(spec));
    CHECK(std::count_if(kCases.begin(), kCases.end(), [&](const KeyCase& key) { return key.pointer == pointer_of(spec); }) == 1);
  }
  CHECK(kCases.size() == keys().size());
}

TEST_CASE("each key accepts its values", "[policy][keys]") {
  for (const KeyCase& key : kCases) {
    for (const char* json : key.accepted) {
      const std::string text = whole_document(key, json);
      const Loaded loaded = load(text);
      INFO(text << '\n' << problem_texts(loaded.problems));
      CHECK(loaded.policy.has_value());
    }
  }
}

TEST_CASE("each key refuses other values and says what to write", "[policy][keys]") {
  for (const KeyCase& key : kCases) {
    for (const auto& [json, message] : key.refused) {
      const std::string text = whole_document(key, json);
      const Loaded loaded = load(text);
      INFO(text << '\n' << problem_texts(loaded.problems) << "wanted: " << message);
      CHECK_FALSE(loaded.policy.has_value());
      CHECK(problem_texts(loaded.problems).find(message) != std::string::npos);
    }
  }
}

TEST_CASE("the default that keys.def states is the one that applies", "[policy][keys]") {
  const Policy without = policy_of(R"({"version": 1, "classes": {"c": {}}, "jobs": [{"match": {}}], "devices": {"*": {}}})");
  for (const KeySpec& spec : keys()) {
    if (spec.fallback.empty() || spec.type == ValueType::object || spec.section == Section::root) continue;
    const std::string stated = document_with(pointer_of(spec), spec.fallback);
    const Policy with = policy_of(stated);
    const std::vector<EncodedValue> defaults = encode(without);
    const std::vector<EncodedValue> values = encode(with);
    const auto of_key = [&](const std::vector<EncodedValue>& list) {
      const auto found =
          std::find_if(list.begin(), list.end(), [&](const EncodedValue& value) { return value.spec->key == spec.key; });
      return found == list.end() ? std::string("nothing") : found->json;
    };
    INFO(stated);
    // Written anew, a default that gives way to another value is left out: it is compared as it was read.
    if (spec.key == Key::pool_critical_reserve)
      CHECK(with.pool == without.pool);
    else
      CHECK(of_key(values) == of_key(defaults));
  }
  CHECK(policy_of(R"({"version": 1})") == built_in());
}

TEST_CASE("keys that nothing acts on yet are a warning wherever they stand", "[policy][keys]") {
  for (const KeySpec& spec : keys()) {
    if (spec.state != State::later || spec.type == ValueType::object) continue;
    const auto key =
        std::find_if(kCases.begin(), kCases.end(), [&](const KeyCase& each) { return each.pointer == pointer_of(spec); });
    const std::string text = document_with(pointer_of(spec), key->accepted.front());
    const Loaded loaded = load(text);
    INFO(text << '\n' << problem_texts(loaded.problems));
    CHECK(loaded.policy.has_value());
    CHECK(problem_texts(loaded.problems).find("does not act on it yet") != std::string::npos);
  }
}

TEST_CASE("annotations are passed over in every section, and only there", "[policy][keys]") {
  for (const SectionSpec& section : sections()) {
    const std::string text = section.pointer.empty() ? R"({"version": 1, "x-a": {"deep": [null]}})"
                                                     : document_with(section.pointer, R"({"x-a": {"deep": [null]}})");
    INFO(text);
    CHECK(load(text).policy.has_value());
  }
  CHECK_FALSE(load(R"({"version": 1, "y-a": 1})").policy.has_value());
}

}  // namespace cupool::policy
